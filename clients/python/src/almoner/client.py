"""A client of the daemon. Its requests are generated, its connection is written by hand."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Union

from . import transport
from .errors import AlmonerError, ConnectionLost, NoAnswer, from_failure
from .protocol import PROTOCOL_VERSION, FollowResponse, Requests, Run

#: The variables of models that the client sends to the daemon, from its environment.
KEY_VARIABLES = (
    "ALMONER_COMPAT_KEY",
    "ALMONER_MODEL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "GEMINI_API_KEY",
    "GEMINI_BASE_URL",
    "GEMINI_MODEL",
    "GOOGLE_API_KEY",
    "LLAMA_ARG_PORT",
    "OLLAMA_HOST",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
)


class Client(Requests):
    """A connection to the daemon, on behalf of one agent.

    Every method of :class:`Requests` sends one request and returns the body of its answer. Threads may share a client:
    their requests follow one another.
    """

    def __init__(
        self,
        connection: transport.Connection,
        home: Optional[Path],
        keys: Mapping[str, str],
        agent: Optional[str],
        version: int,
    ) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._home = home
        self._keys = dict(keys)
        self._version = version
        #: The agent on whose behalf the client asks, as a name path from the store's own host.
        self.agent = agent
        #: The last warning that came before an answer: the store is damaged.
        self.warning: Optional[AlmonerError] = None
        self._connection.send({"version": version, "build": "almoner.py", "keys": self._keys})
        welcome = self._receive(("welcome",))["body"]
        #: The daemon's build.
        self.build: str = welcome["build"]
        #: The number of messages that waited for an answer when the client connected.
        self.waiting: int = welcome.get("waiting", 0)

    @classmethod
    def connect(
        cls,
        home: Optional[Union[str, "os.PathLike[str]"]] = None,
        *,
        agent: Optional[str] = None,
        keys: Optional[Mapping[str, str]] = None,
        start: bool = True,
        program: Optional[str] = None,
        timeout: Optional[float] = None,
        version: int = PROTOCOL_VERSION,
    ) -> "Client":
        """Connects to the daemon of a store.

        ``home`` is the directory of the store; without it, the daemon's own rules find it. ``keys`` are the variables
        that models need; without them, the client sends those of its environment. With ``start``, the client starts a
        daemon if none listens. ``timeout`` limits each answer, in seconds.
        """
        named = Path(home) if home is not None else None
        if keys is None:
            keys = {name: os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)}
        deadline = time.monotonic() + transport.START_TIMEOUT
        while True:
            if start:
                connection = transport.open_or_start(named, program, timeout)
            else:
                found = transport.Connection.open(named or transport.find_home(), timeout)
                if found is None:
                    raise AlmonerError("no_daemon", "no daemon listens", "run `almoner daemon`")
                connection = found
            try:
                return cls(connection, named, keys, agent, version)
            except ConnectionLost:
                connection.close()
                # A daemon that is ending may hang up before it answers. That counts as no daemon.
                if not start or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            except BaseException:
                connection.close()
                raise

    def again(self) -> "Client":
        """Returns a second connection with the same settings."""
        return Client.connect(self._home, agent=self.agent, keys=self._keys, version=self._version)

    def close(self) -> None:
        """Ends the connection. Runs go on."""
        self._connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def follow(self, *, after: int = 0, text: bool = False) -> Iterator[FollowResponse]:
        """Returns every event after ``after``, and then each new one, over a connection of its own.

        A program that keeps the ``seq`` of the last event can go on from there after any interruption.
        """
        other = self.again()
        try:
            other._send({"request": "follow", "after": after, "text": text})
            while True:
                response: Any = other._receive(("event", "progress", "text", "stuck"))
                yield response
        finally:
            other.close()

    def wait(self, run: int, *, timeout: Optional[float] = None) -> Run:
        """Waits until a run has ended or stalled, or a message of its waits for a person, and returns the run.

        Raises :class:`TimeoutError` after ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        after = self.last_event()
        with self.again() as other:
            other._send({"request": "follow", "after": after})
            while True:
                family = self.family(run=run)
                found = next(member for member in family["members"] if member["number"] == run)
                if family["asked"] or found["state"]["state"] in ("finished", "stalled"):
                    # The members of a family come without their results.
                    return self.get_run(run=run)
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"run r{run} has not ended after {timeout} seconds")
                other._connection.set_timeout(left)
                try:
                    other._receive(("event", "progress", "text", "stuck"))
                except NoAnswer:
                    # The loop sees that the time is over.
                    continue

    def _send(self, request: Dict[str, Any]) -> None:
        if self.agent is not None:
            request = {"agent": self.agent, **request}
        self._connection.send(request)

    def _receive(self, expected: Tuple[str, ...]) -> Dict[str, Any]:
        while True:
            frame = self._connection.receive()
            if frame is None:
                raise ConnectionLost("the daemon has closed the connection")
            response = frame.get("response")
            if response == "warning":
                self.warning = from_failure(frame["body"])
            elif response == "failed":
                raise from_failure(frame["body"])
            elif response in expected:
                return frame
            else:
                raise ConnectionLost(f"the daemon answered `{response}`, which makes no sense here")

    def _ask(self, request: Dict[str, Any], expected: Tuple[str, ...]) -> Any:
        with self._lock:
            self._send(request)
            return self._receive(expected)
