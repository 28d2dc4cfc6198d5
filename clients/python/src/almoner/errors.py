"""The failures of a client."""

from __future__ import annotations

from typing import Any, Mapping, Optional


class AlmonerError(Exception):
    """A request failed.

    ``exit`` names the reason, as the exit codes of the command line do: ``not_found``, ``denied``, ``conflict``, and
    so on. ``help`` is advice for a person. ``message`` may quote foreign text.
    """

    def __init__(self, exit: str, message: str, help: str = "", problem: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(message)
        self.exit = exit
        self.message = message
        self.help = help
        self.problem = problem

    def __str__(self) -> str:
        # Foreign text must not move the cursor of a terminal.
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in self.message)
        return f"{shown} (help: {self.help})" if self.help else shown


class MalformedRequest(AlmonerError):
    """The daemon could not read the request. ``problem`` says why. The connection stays open."""


class VersionMismatch(AlmonerError):
    """The daemon does not serve the version of this client. ``problem["served"]`` lists the versions that it serves."""


class ConnectionLost(AlmonerError):
    """The daemon has gone. Runs go on, and the next connection starts the daemon again."""

    def __init__(self, message: str) -> None:
        super().__init__("no_daemon", message, "connect again: runs go on where they were")


class NoAnswer(AlmonerError):
    """The daemon has not answered in time. The answer may still come, so that the connection is of no more use."""

    def __init__(self) -> None:
        super().__init__("no_daemon", "the daemon does not answer", "`almoner doctor`")


def from_failure(body: Mapping[str, Any]) -> AlmonerError:
    """Returns the error for the body of a ``failed`` response."""
    problem = body.get("problem")
    kind = AlmonerError
    if isinstance(problem, dict):
        kind = VersionMismatch if problem.get("problem") == "version" else MalformedRequest
    return kind(str(body.get("exit")), str(body.get("message")), str(body.get("help", "")), problem)
