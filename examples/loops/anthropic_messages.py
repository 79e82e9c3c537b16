"""An agent's loop with the Anthropic SDK, and a log on disk. The pack carries cache marks at layer ends.

ANTHROPIC_API_KEY=… python examples/loops/anthropic_messages.py "What does this project do?"
"""

import os
import sys

import anthropic

import holdfast
from tools import ANTHROPIC_TOOLS, run_tool

client, model = anthropic.Anthropic(), os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5")
with holdfast.Session(
    budget="128k", system="You are brief.", tools=ANTHROPIC_TOOLS, store="agent.db"
) as session:
    session.append({"role": "user", "content": sys.argv[1]})
    while True:
        packed = session.pack()
        try:
            with client.messages.stream(
                model=model,
                max_tokens=8_000,
                system=packed.system,
                messages=packed.messages,
                tools=packed.tools,
            ) as stream:
                reply = stream.get_final_message()  # a streamed reply is appended once it is whole
        except anthropic.APIStatusError as error:
            if session.report(error):
                continue
            raise
        session.append(reply)
        calls = [block for block in reply.content if block.type == "tool_use"]
        for call in calls:
            if not session.answer(call):
                text = run_tool(call.name, call.input)
                result = {"type": "tool_result", "tool_use_id": call.id, "content": text}
                session.append({"role": "user", "content": [result]})
        if not calls:
            break
print("".join(block.text for block in reply.content if block.type == "text"))
