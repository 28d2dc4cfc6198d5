"""An MCP server over standard input and output with the tools of one suite of AgentDojo: `server.py SUITE`.

It works in the current directory. `environment.pickle` is the state of the suite's world: it is read before each call
and replaced after it. Each call adds a line to `calls.jsonl`. So the state outlives the server, which Almoner ends
whenever a run waits. `tools.json` lists the tools, so that AgentDojo is imported only for a call.
"""
import json
import os
import pickle
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class Suite:
    """The suite, imported at the first call."""

    def __init__(self, name):
        self.name, self.loaded = name, None

    def call(self, tool, arguments):
        from world import runtime_of, text_of
        self.loaded = self.loaded or runtime_of(self.name)
        with open("environment.pickle", "rb") as file:
            environment = pickle.load(file)
        result, error = self.loaded.run_function(environment, tool, arguments)
        with open("environment.new", "wb") as file:
            pickle.dump(environment, file)
        os.replace("environment.new", "environment.pickle")
        with open("calls.jsonl", "a") as file:
            file.write(json.dumps({"function": tool, "arguments": arguments, "error": error}) + "\n")
        return {"content": [{"type": "text", "text": text_of(result, error)}], "isError": bool(error)}


def answer(suite, method, params):
    if method == "initialize":
        return {"protocolVersion": params.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                "serverInfo": {"name": "agentdojo-" + suite.name, "version": "1"}}
    if method == "tools/list":
        with open("tools.json") as file:
            return {"tools": json.load(file)}
    if method == "tools/call":
        try:
            return suite.call(params["name"], params.get("arguments") or {})
        except Exception as error:  # an error that the tool itself did not expect
            return {"content": [{"type": "text", "text": f"{type(error).__name__}: {error}"}], "isError": True}
    return {} if method == "ping" else None


def main():
    suite, output = Suite(sys.argv[1]), sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(suite, message["method"], message.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        else:
            reply["result"] = result
        output.write(json.dumps(reply) + "\n")
        output.flush()


if __name__ == "__main__":
    main()
