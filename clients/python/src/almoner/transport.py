"""Frames over ``control.sock``: a length of four little-endian bytes, and then that much JSON."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .errors import AlmonerError, ConnectionLost, NoAnswer

#: The longest frame, in bytes.
MAX_FRAME = 64 << 20

#: How long a daemon may take from its start to its first answer, in seconds.
START_TIMEOUT = 20.0

#: The exit code of a daemon that finds another one at work.
_STORE_IN_USE = 8

#: The longest path that a socket address can hold, in bytes.
_MAX_SOCKET_PATH = 107


#: The systems that tell the user at the other end of a socket: level and name of the option, and the form of its
#: value up to that user. Linux answers with a ``ucred``, the others with an ``xucred``, which begins with its version.
_PEER_OPTIONS: Dict[str, Tuple[int, int, str]] = {
    "linux": (socket.SOL_SOCKET, getattr(socket, "SO_PEERCRED", 17), "iI"),
    "darwin": (0, 1, "II"),
    "freebsd": (0, 1, "II"),
}

#: The longest value of such an option, in bytes.
_MAX_PEER_VALUE = 128


def find_home(environ: Optional[Mapping[str, str]] = None) -> Path:
    """Returns the directory of the store, by the rules that the daemon follows."""
    environ = os.environ if environ is None else environ
    for name in ("ALMONER_HOME", "ENDO_STATE_PATH"):
        if environ.get(name):
            return Path(environ[name])
    # A relative path counts for nothing here, by the rules of XDG.
    if os.path.isabs(environ.get("XDG_STATE_HOME", "")):
        return Path(environ["XDG_STATE_HOME"]) / "almoner"
    user_home = environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    return Path(user_home) / ".local" / "state" / "almoner"


#: The variables that name directories. A relative path is one of this process, and the daemon has another directory.
_DIRECTORY_VARIABLES = (
    "ALMONER_HOME",
    "ALMONER_MODELS",
    "ENDO_STATE_PATH",
    "ENDO_EPHEMERAL_STATE_PATH",
    "ENDO_CACHE_PATH",
    "ENDO_SOCK_PATH",
)


def daemon_environment(home: Optional[Path], environ: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
    """Returns the environment of a daemon. ``home`` is the home that the caller has named.

    Without one, the environment decides, as it does for the command line. A home named here would replace the user's
    own configuration, with its policies.
    """
    found = dict(os.environ if environ is None else environ)
    if home is not None:
        found["ALMONER_HOME"] = str(home)
    for name in _DIRECTORY_VARIABLES:
        if found.get(name):
            found[name] = os.path.abspath(found[name])
    return found


def start_daemon(home: Optional[Path], program: Optional[str] = None) -> "subprocess.Popen[bytes]":
    """Starts a daemon that ends after ten minutes without clients and work."""
    found = program or os.environ.get("ALMONER") or shutil.which("almoner")
    if found is None:
        raise AlmonerError("no_daemon", "cannot start the daemon: there is no program `almoner`", "install Almoner")
    try:
        return subprocess.Popen(
            [found, "daemon", "--on-demand"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=daemon_environment(home),
            start_new_session=True,
        )
    except OSError as error:
        raise AlmonerError("no_daemon", f"cannot start the daemon: {error}") from error


class Connection:
    """One connection to the daemon, which takes and gives frames."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream

    @classmethod
    def open(cls, home: Path, timeout: Optional[float] = None) -> "Optional[Connection]":
        """Connects to the daemon of a store, or returns ``None`` if none listens.

        The first frame holds the user's keys, so another user must not take it.
        """
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.settimeout(timeout)
        try:
            path = _socket_path(home / "run")
            if _peer_option() is None:
                _check_files(path)
            _connect(stream, path)
            if _peer_option() is not None:
                _check_peer(stream, path)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            stream.close()
            return None
        except OSError as error:
            stream.close()
            raise AlmonerError("no_daemon", f"cannot reach the daemon: {error}") from error
        except AlmonerError:
            stream.close()
            raise
        return cls(stream)

    def send(self, frame: Any) -> None:
        """Sends one frame."""
        self.send_bytes(json.dumps(frame, ensure_ascii=False, allow_nan=False).encode())

    def send_bytes(self, body: bytes) -> None:
        """Sends one frame of these bytes, which need not be JSON."""
        if len(body) > MAX_FRAME:
            raise AlmonerError("usage", f"cannot send {len(body)} bytes: a frame has at most {MAX_FRAME}")
        try:
            self._stream.sendall(struct.pack("<I", len(body)) + body)
        except socket.timeout as error:
            raise NoAnswer() from error
        except OSError as error:
            raise ConnectionLost(f"the daemon has gone: {error}") from error

    def receive(self) -> Optional[Dict[str, Any]]:
        """Returns the next frame, or ``None`` after the last one."""
        head = self._read(4)
        if head is None:
            return None
        (length,) = struct.unpack("<I", head)
        if length > MAX_FRAME:
            raise ConnectionLost(f"the daemon sent a frame of {length} bytes")
        body = self._read(length)
        if body is None:
            raise ConnectionLost("the daemon has gone inside of a frame")
        frame: Union[Dict[str, Any], Any] = json.loads(body)
        if not isinstance(frame, dict):
            raise ConnectionLost("the daemon sent a frame that is no object")
        return frame

    def _read(self, length: int) -> Optional[bytes]:
        parts: List[bytes] = []
        missing = length
        while missing > 0:
            try:
                part = self._stream.recv(min(missing, 1 << 20))
            except socket.timeout as error:
                raise NoAnswer() from error
            except OSError as error:
                raise ConnectionLost(f"the daemon has gone: {error}") from error
            if not part:
                if missing < length:
                    raise ConnectionLost("the daemon has gone inside of a frame")
                return None if length else b""
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def set_timeout(self, timeout: Optional[float]) -> None:
        """Limits the time of each read and write, in seconds."""
        self._stream.settimeout(timeout)

    def close(self) -> None:
        """Ends the connection."""
        self._stream.close()


def open_or_start(named: Optional[Path], program: Optional[str], timeout: Optional[float]) -> Connection:
    """Connects to the daemon of a store, and starts one if none listens. ``named`` is the home that the caller named."""
    home = find_home() if named is None else named
    connection = Connection.open(home, timeout)
    if connection is not None:
        return connection
    daemon = start_daemon(named, program)
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        connection = Connection.open(home, timeout)
        if connection is not None:
            # The daemon outlives this program, which does not wait for it.
            daemon.returncode = 0
            return connection
        if daemon.poll() is not None:
            if daemon.returncode != _STORE_IN_USE:
                raise AlmonerError("no_daemon", "the daemon ended at once", "run `almoner daemon` to see why")
            # Another daemon has the store. It is about to listen, or it is ending.
            time.sleep(0.1)
            connection = Connection.open(home, timeout)
            if connection is not None:
                return connection
            daemon = start_daemon(named, program)
        time.sleep(0.01)
    raise AlmonerError("no_daemon", "the daemon does not answer", "run `almoner daemon` to watch it")


def _socket_path(directory: Path) -> Path:
    """Returns the socket of a directory, or the one that the directory names."""
    path = directory / "control.sock"
    elsewhere = directory / "control.path"
    if not path.exists() and elsewhere.exists():
        path = Path(os.fsdecode(elsewhere.read_bytes().strip()))
    return path


def _connect(stream: socket.socket, path: Path) -> None:
    """Connects to a socket, whose path may be too long for an address."""
    if len(os.fsencode(path)) <= _MAX_SOCKET_PATH:
        return stream.connect(str(path))
    held = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        stream.connect(f"/proc/self/fd/{held}/{path.name}")
    finally:
        os.close(held)


def _peer_option() -> Optional[Tuple[int, int, str]]:
    """Returns the option that tells the user at the other end of a socket, if the system has one."""
    found = (option for system, option in _PEER_OPTIONS.items() if sys.platform.startswith(system))
    return next(found, None)


def _check_peer(stream: socket.socket, path: Path) -> None:
    """Refuses a connection whose other end belongs to another user."""
    option = _peer_option()
    if option is None:
        raise _distrust(f"this system does not tell who listens at {path}")
    level, name, form = option
    value = stream.getsockopt(level, name, _MAX_PEER_VALUE)
    if len(value) < struct.calcsize(form):
        raise _distrust(f"the system does not tell who listens at {path}")
    first, uid = struct.unpack_from(form, value)
    # The version of an `xucred` is 0. Another one may have another form.
    if uid != os.getuid() or (level != socket.SOL_SOCKET and first != 0):
        raise _distrust(f"{path} belongs to another user")


def _check_files(path: Path) -> None:
    """Refuses a socket that another user could have made, on a system that does not tell who listens."""
    for entry, is_kind in [(path.parent, stat.S_ISDIR), (path, stat.S_ISSOCK)]:
        found = os.stat(entry, follow_symlinks=entry == path.parent)
        if not is_kind(found.st_mode):
            raise _distrust(f"{entry} is no {'socket' if entry == path else 'directory'}")
        if found.st_uid != os.getuid():
            raise _distrust(f"{entry} belongs to another user")
        if found.st_mode & 0o022:
            raise _distrust(f"other users can write to {entry}")


def _distrust(reason: str) -> AlmonerError:
    return AlmonerError("no_daemon", f"cannot trust the daemon: {reason}", "set ALMONER_HOME to a directory of yours")
