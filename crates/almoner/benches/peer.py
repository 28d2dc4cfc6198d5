"""The same calls in pydantic-ai, for `cargo xtask bench workers`: nothing is durable, nothing is judged.

Usage: peer.py empty | tools N | children N | files N FOLDER. Prints the seconds that the calls took, as JSON.
"""

import asyncio
import json
import pathlib
import sys
import time

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits


def calling(name, count, arguments):
    """A model that calls one tool so many times, one call a turn, and then says ok."""

    def reply(messages, _info):
        made = sum(1 for message in messages if isinstance(message, ModelResponse))
        if made < count:
            return ModelResponse(parts=[ToolCallPart(name, arguments(made))])
        return ModelResponse(parts=[TextPart("ok")])

    return FunctionModel(reply)


async def main():
    what, rest = sys.argv[1], sys.argv[2:]
    count = int(rest[0]) if rest else 0
    limits = UsageLimits(request_limit=None)
    if what == "files":
        folder = pathlib.Path(rest[1])
        agent = Agent(calling("write", count, lambda n: {"path": f"f{n % 8}.txt", "content": "x" * 1024}))

        @agent.tool_plain
        def write(path: str, content: str) -> str:
            (folder / path).write_text(content)
            return "written"

    elif what == "children":
        child = Agent(FunctionModel(lambda _messages, _info: ModelResponse(parts=[TextPart("ok")])))

        async def call() -> str:
            return (await child.run("Say ok.")).output

        agent = Agent(calling("call", count, lambda _n: {}), tools=[call])
    else:
        agent = Agent(calling("read", count, lambda _n: {"path": "a.txt"}))

        @agent.tool_plain
        def read(path: str) -> str:
            return pathlib.Path(path).read_text()

    begun = time.perf_counter()
    result = await agent.run("Go.", usage_limits=limits)
    print(json.dumps({"seconds": time.perf_counter() - begun, "output": result.output}))


asyncio.run(main())
