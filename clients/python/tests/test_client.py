"""The client against a real daemon. `ALMONER` names its program."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path
from typing import Any, List, Optional

from almoner import (
    PROTOCOL_VERSION,
    AlmonerError,
    Client,
    ConnectionLost,
    MalformedRequest,
    VersionMismatch,
    smallcaps,
    transport,
)
from almoner.protocol import Run
from almoner.transport import daemon_environment, find_home

WORKER = """---
slots: { outbox: outbox }
output: { note: string }
---
Send what you are told to send.
"""

SCRIPT = [
    {
        "turns": [
            {
                "calls": [
                    {
                        "name": "outbox_send",
                        "arguments": {"to": "bob@a.example", "subject": "Hi", "body": "Hello"},
                    }
                ]
            },
            {"text": json.dumps({"note": "sent"})},
        ]
    }
]

#: The most that a daemon under load takes for one step, in seconds.
TIMEOUT = 60.0


class ClientTest(unittest.TestCase):
    """Each test has a home of its own, whose daemon ends with the test."""

    def setUp(self) -> None:
        program = os.environ.get("ALMONER")
        if not program:
            self.fail("set ALMONER to the program, such as target/debug/almoner")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = program
        self.home = Path(folder.name) / "home"
        self.work = Path(folder.name) / "work"
        self.outbox = self.work / "outbox"
        self.outbox.mkdir(parents=True)
        (self.work / "script.json").write_text(json.dumps(SCRIPT))
        self.addCleanup(self.stop)

    def stop(self) -> None:
        subprocess.run(
            [self.program, "stop"],
            env={**os.environ, "ALMONER_HOME": str(self.home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )

    def connect(self, agent: Optional[str] = None, version: int = PROTOCOL_VERSION) -> Client:
        client = Client.connect(
            self.home, agent=agent, keys={}, program=self.program, timeout=TIMEOUT, version=version
        )
        self.addCleanup(client.close)
        return client

    def start(self, almoner: Client) -> int:
        answer = almoner.run(
            text="send it",
            worker={"name": "sender", "source": WORKER},
            spec={
                "values": {},
                "endow": [
                    {
                        "slot": "outbox",
                        "fill": {
                            "fill": "path",
                            "path": str(self.outbox),
                            "write": False,
                            "suffixes": [],
                            "max_bytes": None,
                        },
                    }
                ],
                "model": {"model": "reference", "is": f"scripted:{self.work}/script.json"},
            },
        )
        self.assertEqual(answer["response"], "reply")
        assert answer["response"] == "reply" and answer["body"]["reply"] == "started"
        return answer["body"]["run"]

    def mails(self) -> int:
        return sum(1 for path in self.outbox.rglob("*") if path.is_file())


class RunTest(ClientTest):
    def test_run_is_followed_answered_and_read(self) -> None:
        with self.connect() as almoner:
            after = almoner.last_event()
            run = self.start(almoner)
            changes: List[str] = []
            message = -1
            for frame in almoner.follow(after=after):
                if frame["response"] != "event":
                    continue
                change = frame["body"]["change"]
                changes.append(change["change"])
                if change["change"] == "message" and change["needs_you"]:
                    message = change["number"]
                    break
            self.assertIn("run_started", changes)
            card = almoner.card(message=message)
            shown = json.dumps(card)
            self.assertIn("bob@a.example", shown)
            self.assertEqual(self.mails(), 0, "nothing is sent before the answer")
            reply = almoner.approve(text="yes", message=message, for_run=False)
            assert reply["reply"] == "answered"
            self.assertEqual((reply["run"], reply["needs_you"]), (run, False))
            again = almoner.approve(text="yes", message=message, for_run=False)
            self.assertEqual(again["reply"], "already_answered")
            found = almoner.wait(run, timeout=TIMEOUT)
            self.assertEqual(found["state"]["state"], "finished")
            self.assertEqual(self.result(found), {"note": "sent"})
            self.assertEqual(self.mails(), 1)

    def test_denied_call_is_not_made(self) -> None:
        with self.connect() as almoner:
            run = self.start(almoner)
            waiting = almoner.wait(run, timeout=TIMEOUT)
            self.assertNotEqual(waiting["state"]["state"], "finished")
            (message,) = almoner.family(run=run)["asked"]
            reply = almoner.deny(text="no", message=message, reason="not now")
            self.assertEqual(reply["reply"], "answered")
            self.assertEqual(almoner.wait(run, timeout=TIMEOUT)["state"]["state"], "finished")
            self.assertEqual(self.mails(), 0)

    def test_plan_starts_nothing(self) -> None:
        with self.connect() as almoner:
            answer = almoner.run(
                text="plan",
                worker={"name": "w", "source": "---\n---\nSay it.\n"},
                spec={
                    "values": {},
                    "dry_run": True,
                    "model": {"model": "reference", "is": f"scripted:{self.work}/script.json"},
                },
            )
            assert answer["response"] == "plan"
            self.assertEqual(answer["body"]["worker"], "w")
            self.assertEqual(almoner.runs(limit=10), [])

    @staticmethod
    def result(run: Run) -> Any:
        state = run["state"]
        assert state["state"] == "finished"
        outcome = state["outcome"]
        assert "done" in outcome, outcome
        done: Any = outcome
        return smallcaps.decode(done["done"])


class ConnectionTest(ClientTest):
    def test_client_starts_daemon_and_second_connection_finds_it(self) -> None:
        with self.assertRaises(AlmonerError) as caught:
            Client.connect(self.home, keys={}, start=False)
        self.assertEqual(caught.exception.exit, "no_daemon")
        first, second = self.connect(), self.connect()
        self.assertEqual(first.status()["pid"], second.status()["pid"])
        self.assertEqual(first.build, second.build)

    def test_threads_share_one_client(self) -> None:
        almoner = self.connect()
        found: List[int] = []
        threads = [threading.Thread(target=lambda: found.append(almoner.last_event())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 8)

    def test_reconnected_client_goes_on_from_its_last_event(self) -> None:
        almoner = self.connect()
        self.start(almoner)
        seen: List[int] = []
        for frame in almoner.follow():
            if frame["response"] == "event":
                seen.append(frame["body"]["seq"])
            if len(seen) == 5:
                break
        almoner.close()
        with self.assertRaises(ConnectionLost):
            almoner.status()
        other = self.connect()
        for frame in other.follow(after=seen[-1]):
            if frame["response"] == "event":
                self.assertEqual(frame["body"]["seq"], seen[-1] + 1)
                break

    def test_stopped_daemon_is_lost_and_started_again(self) -> None:
        almoner = self.connect()
        before = almoner.status()["pid"]
        self.assertEqual(almoner.stop()["reply"], "done")
        with self.assertRaises(ConnectionLost):
            almoner.status()
        # A daemon that is ending may still take a connection, which it then closes.
        self.assertNotEqual(self.connect().status()["pid"], before)

    def test_long_path_of_home_is_reached(self) -> None:
        self.home = self.home / ("x" * 100) / "home"
        self.home.parent.mkdir(parents=True)
        self.assertGreater(self.connect().status()["pid"], 0)

    def test_keys_go_to_no_socket_of_another_user(self) -> None:
        self.connect().close()
        run = self.home / "run"
        with unittest.mock.patch.object(transport, "_PEER_OPTIONS", {}):
            self.assertGreater(self.connect().status()["pid"], 0)
            run.chmod(0o770)
            self.assert_distrusted("other users can write to")
            run.chmod(0o700)
            with unittest.mock.patch.object(os, "getuid", return_value=os.getuid() + 1):
                self.assert_distrusted("belongs to another user")
            (run / "control.sock").rename(run / "other.sock")
            (run / "control.sock").write_text("no socket")
            self.assert_distrusted("is no socket")
            (run / "other.sock").rename(run / "control.sock")
        with unittest.mock.patch.object(os, "getuid", return_value=os.getuid() + 1):
            self.assert_distrusted("belongs to another user")

    def assert_distrusted(self, reason: str) -> None:
        with unittest.mock.patch.object(transport.Connection, "send") as send:
            with self.assertRaises(AlmonerError) as caught:
                Client.connect(self.home, keys={}, start=False, timeout=TIMEOUT)
        self.assertIn(reason, str(caught.exception))
        send.assert_not_called()

    def test_peer_of_every_system_is_checked(self) -> None:
        own, other = os.getuid(), os.getuid() + 1
        for system, value, is_trusted in [
            ("linux", struct.pack("iII", 1, own, 1), True),
            ("linux", struct.pack("iII", 1, other, 1), False),
            ("darwin", struct.pack("IIh", 0, own, 1), True),
            ("darwin", struct.pack("IIh", 0, other, 1), False),
            ("darwin", struct.pack("IIh", 1, own, 1), False),
            ("freebsd14", struct.pack("IIh", 0, own, 1), True),
            ("darwin", b"", False),
        ]:
            stream = unittest.mock.Mock()
            stream.getsockopt.return_value = value
            with unittest.mock.patch.object(sys, "platform", system), self.subTest(system=system, value=value):
                if is_trusted:
                    transport._check_peer(stream, Path("/run"))
                    continue
                with self.assertRaises(AlmonerError):
                    transport._check_peer(stream, Path("/run"))

    def test_home_follows_the_rules_of_the_daemon(self) -> None:
        for environ, expected in [
            ({"ALMONER_HOME": "/a", "ENDO_STATE_PATH": "/b"}, "/a"),
            ({"ENDO_STATE_PATH": "/b", "XDG_STATE_HOME": "/c"}, "/b"),
            ({"XDG_STATE_HOME": "/c", "HOME": "/d"}, "/c/almoner"),
            ({"XDG_STATE_HOME": "c", "HOME": "/d"}, "/d/.local/state/almoner"),
            ({"HOME": "/d"}, "/d/.local/state/almoner"),
        ]:
            self.assertEqual(str(find_home(environ)), expected)

    def test_daemon_of_the_client_follows_the_policy_of_the_user(self) -> None:
        user = self.work / "user"
        policy = user / ".config" / "almoner" / "policy.cedar"
        policy.parent.mkdir(parents=True)
        policy.write_text('@id("mine")\nforbid (principal, action, resource);\n')
        environ = {"HOME": str(user), "PATH": os.environ["PATH"], "ALMONER_KEYRING": "none"}
        self.addCleanup(subprocess.run, [self.program, "stop"], env=environ, check=False)
        with unittest.mock.patch.dict(os.environ, environ, clear=True):
            with Client.connect(keys={}, program=self.program, timeout=TIMEOUT) as almoner:
                self.assertGreater(almoner.status()["pid"], 0)
        said = subprocess.run([self.program, "policy"], env=environ, capture_output=True, text=True, check=True)
        self.assertIn("mine", said.stdout)
        self.assertFalse((user / ".local" / "state" / "almoner" / "state").exists())

    def test_relative_home_is_made_absolute_for_the_daemon(self) -> None:
        here = os.getcwd()
        for home, environ, expected in [
            (None, {"HOME": "/d"}, {"HOME": "/d"}),
            (None, {"ALMONER_HOME": "h"}, {"ALMONER_HOME": f"{here}/h"}),
            (Path("h"), {"ALMONER_HOME": "/a"}, {"ALMONER_HOME": f"{here}/h"}),
        ]:
            self.assertEqual(daemon_environment(home, environ), expected)


class ErrorTest(ClientTest):
    def test_missing_run_is_not_found(self) -> None:
        almoner = self.connect()
        with self.assertRaises(AlmonerError) as caught:
            almoner.get_run(run=99)
        self.assertEqual(caught.exception.exit, "not_found")
        self.assertIn("r99", caught.exception.message)
        self.assertEqual(almoner.last_event(), almoner.last_event())

    def test_malformed_request_raises_and_connection_stays(self) -> None:
        almoner = self.connect()
        for body, problem in [
            (b"{", "not_json"),
            (b"\xff", "not_utf8"),
            (b'{"request":"look","look":' + b"[" * 1000, "too_deep"),
            (b'{"request":"statuss"}', "unknown_request"),
            (b'{"request":"get_run"}', "missing_field"),
            (b'{"request":"get_run","run":"r1"}', "wrong_field"),
            (b'{"request":"get_run","run":1,"rum":2}', "unknown_field"),
        ]:
            almoner._connection.send_bytes(body)
            with self.assertRaises(MalformedRequest) as caught:
                almoner._receive(("status",))
            assert caught.exception.problem is not None
            self.assertEqual(caught.exception.problem["problem"], problem)
            self.assertGreater(almoner.status()["pid"], 0)

    def test_version_before_is_served_and_others_are_refused(self) -> None:
        self.assertGreater(self.connect(version=PROTOCOL_VERSION - 1).status()["pid"], 0)
        for version in (PROTOCOL_VERSION - 2, PROTOCOL_VERSION + 1):
            with self.assertRaises(VersionMismatch) as caught:
                self.connect(version=version)
            assert caught.exception.problem is not None
            self.assertEqual(caught.exception.problem["served"], [PROTOCOL_VERSION, PROTOCOL_VERSION - 1])

    def test_foreign_text_of_error_moves_no_cursor(self) -> None:
        error = AlmonerError("failure", "\x1b[2Jgone", "`almoner doctor`")
        self.assertEqual(str(error), "\\x1b[2Jgone (help: `almoner doctor`)")


class AgentTest(ClientTest):
    def test_guest_has_names_of_its_own(self) -> None:
        almoner = self.connect()
        reply = almoner.act_provide(
            act={"kind": "guest", "name": ["bob"], "agent_name": ["profile-for-bob"], "introduced": []}
        )
        self.assertEqual(reply["reply"], "agent")
        almoner.act_store_text(text="hello", path=["greeting"])
        self.assertIn("greeting", [row["name"] for row in almoner.look_names()])
        bob = self.connect(agent="profile-for-bob")
        self.assertNotIn("greeting", [row["name"] for row in bob.look_names()])
        with self.assertRaises(AlmonerError) as caught:
            bob.status()
        self.assertEqual(caught.exception.exit, "denied")

    def test_value_written_by_client_is_read_by_daemon(self) -> None:
        almoner = self.connect()
        data = {"a": [1, "!x", "#y", None, True, 1.5], "$b": {"+": -3}, "big": 2**70}
        value = smallcaps.encode(data)
        almoner.act_name(act={"name": "store_value", "path": ["v"], "value": value})
        found = almoner.look_object(path=["v"])["value"]
        assert found is not None
        self.assertEqual(smallcaps.decode(found), data)


class SmallcapsTest(unittest.TestCase):
    def test_special_values_have_their_own_form(self) -> None:
        body = '#["+5","-7","!+5","#undefined","#Infinity","%x","$0.Alleged: D","&1"]'
        found = smallcaps.decode({"body": body, "slots": ["p", "q"]})
        self.assertEqual(found[:5], [5, -7, "+5", None, float("inf")])
        references = [smallcaps.Reference("p", "Alleged: D"), smallcaps.Reference("q", "", True)]
        self.assertEqual(found[5:], [smallcaps.Symbol("x"), *references])
        for wrong in ["1", '#{"#tag":"x"}', '#"#x"', '#"*x"']:
            with self.assertRaises(ValueError):
                smallcaps.decode({"body": wrong, "slots": []})


if __name__ == "__main__":
    unittest.main()
