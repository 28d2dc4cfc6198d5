"""Scores `almoner` on mcp-defense-bench (PyPI, Apache-2.0), whose cases are read from the installed package.

    pip install mcp-defense-bench
    python3 bench.py /path/to/almoner [--asks]

Each case is served by a process of its own (`bench.py serve CASE LOG`), which is added as a server, handed over and called
through a run of the real binary with a scripted model. Every tool is handed over as one that reads, which is the most that a
user can say of it, so that what counts is what is refused or changed without anybody being asked. With `--asks` nothing is
said of any tool, and it is counted how many calls a person is shown first.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PLACEHOLDER = {"string": "x", "number": 0, "integer": 0, "boolean": False, "array": [], "object": {}}


def serve(case, log):
    """One case as a server: its tools, and what they give back."""
    case = json.loads(Path(case).read_text())
    tools = tools_of(case)
    listed = 0
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        method, result = request.get("method"), None
        if method == "initialize":
            version = request["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "c", "version": "1"}}
        elif method == "tools/list":
            listed += 1
            # The change comes once it is in use: a session that is opened to call asks once before each call.
            now = [case["after"]] if "after" in case and (listed > 1 or Path(log).with_suffix(".on").exists()) else tools
            result = {"tools": [{"inputSchema": {"type": "object"}, **tool} for tool in now]}
        elif method == "tools/call":
            with open(log, "a") as out:
                out.write(json.dumps(request["params"]) + "\n")
            result = case.get("result") or {"content": [{"type": "text", "text": "ok"}]}
        answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)


class Almoner:
    """One home, in which each case is a server of its own."""

    def __init__(self, binary, asks):
        self.binary, self.asks = binary, asks
        self.home = tempfile.TemporaryDirectory(prefix="mdb-")
        self.place = Path(self.home.name)
        self.count = self.asked = self.calls = 0
        self.open_schemas = []
        self.meta = {
            "tool": "almoner",
            "class": "runtime",
            "reproducible": True,
            "fixtureTypes": [
                "malicious-tool-definition",
                "benign-tool-definition",
                "definition-change",
                "tool-call",
                "malicious-tool-result",
                "benign-tool-result",
                "tool-call-sequence",
            ],
        }

    def run(self, *args):
        env = {**os.environ, "ALMONER_HOME": str(self.place / "home"), "ALMONER_KEYRING": "none"}
        return subprocess.run([self.binary, *args], cwd=self.place, env=env, capture_output=True, text=True)

    def assess(self, case, _):
        self.count += 1
        name, work = f"c{self.count}", self.place / f"c{self.count}"
        work.mkdir()
        (work / "case.json").write_text(json.dumps(case))
        server = [str(Path(__file__).resolve()), "serve", str(work / "case.json"), str(work / "log")]
        added = self.run("mcp", "add", name, "--dir", f"{work}:rw", "--net", "--", "/usr/bin/python3", *server)
        assert added.returncode == 0, added.stderr
        try:
            return self.judge(case, name, work)
        finally:
            self.run("mcp", "remove", name)

    def judge(self, case, name, work):
        kind = case["type"]
        tools = tools_of(case)
        shown = self.run("mcp", "tools", name)
        said = "\n".join(line[4:] for line in shown.stdout.splitlines() if line.startswith("  │ "))
        told = "\n".join(tool.get("description") or "" for tool in tools)
        if shown.returncode != 0:
            return verdict(True, shown.stderr)
        if kind.endswith("tool-definition"):
            changed = [line.strip() for line in said.splitlines()] != [line.strip() for line in told.splitlines()]
            refused = "cannot be handed over" in shown.stdout or self.hand_over(name, tools, [], work).returncode != 0
            return verdict(changed or refused, "made visible" if changed else shown.stdout)
        if kind == "definition-change":
            calls = [(tools[0]["name"], arguments(tools[0]))]
        elif kind == "tool-call-sequence":
            calls = [(call["name"], call.get("arguments") or {}) for call in case["calls"]]
        else:
            call = case.get("call")
            calls = [(call["name"], call.get("arguments") or {})] if call else [(tools[0]["name"], arguments(tools[0]))]
        ran = self.hand_over(name, tools, calls, work)
        if kind == "definition-change":
            # A second call in the same session, after the change.
            ran = self.hand_over(name, tools, calls * 2, work)
            reached = len((work / "log").read_text().splitlines()) if (work / "log").exists() else 0
            return verdict(reached < 3, "mcp/changed" if "mcp/changed" in self.trace() else ran.stderr)
        self.calls += len(calls)
        self.asked += "judged ask" in ran.stderr
        reached = len((work / "log").read_text().splitlines()) if (work / "log").exists() else 0
        return verdict(reached < len(calls), ran.stderr)

    def hand_over(self, name, tools, calls, work):
        word = "" if self.asks else ":reads"
        named = ",".join(sorted({tool["name"] + word for tool in tools}))
        (self.place / "w.worker").write_text("---\nslots: { far: mcp }\n---\nDo it.\n")
        plain = lambda tool: "far_" + "".join(c if c.isalnum() and c.isascii() or c in "_-" else "_" for c in tool)
        turns = [{"calls": [{"name": plain(tool), "arguments": given}]} for tool, given in calls]
        (self.place / "script.json").write_text(json.dumps([{"turns": turns + [{"text": "done"}]}]))
        more = [] if calls else ["--dry-run"]
        slot = f"far=mcp:{name}[{named}]"
        return self.run("run", "w.worker", "-m", "scripted:script.json", "-e", slot, "--on-ask", "deny", *more)

    def trace(self):
        return self.run("trace", "--json").stdout


def tools_of(case):
    """The tools of a case; those of a sequence take whatever its calls say."""
    if case["type"] != "tool-call-sequence":
        return [case.get("before") or case["tool"]]
    tools = {}
    for call in case["calls"]:
        tool = tools.setdefault(call["name"], {"name": call["name"], "inputSchema": {"type": "object", "properties": {}}})
        tool["inputSchema"]["properties"].update({name: {} for name in call.get("arguments") or {}})
    return list(tools.values())


def arguments(tool):
    """As little as the schema asks for."""
    schema = tool.get("inputSchema") or {}
    properties = schema.get("properties") or {}
    given = {}
    for name in schema.get("required") or ():
        part = properties.get(name) or {}
        kind = part.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        given[name] = part["enum"][0] if part.get("enum") else PLACEHOLDER.get(kind, "x")
    return given


def verdict(enforced, signal):
    return {"detect": enforced, "enforce": enforced, "signal": (signal or "")[:300]}


def main():
    from mcp_defense_bench import run

    binary, asks = sys.argv[1], "--asks" in sys.argv
    for corpus in ("dev", "benign"):
        defence = Almoner(binary, asks)
        result = run(defence, corpus=corpus)
        defence.run("stop")
        print(corpus, json.dumps(result["summary"], indent=1))
        print(f"calls: {defence.calls}, asked about: {defence.asked}")
        Path(f"almoner-{corpus}{'-asks' if asks else ''}.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    serve(*sys.argv[2:]) if sys.argv[1] == "serve" else main()
