"""An agent's loop with the OpenAI SDK (Responses), and a log on disk. Nothing is stored at the provider.

OPENAI_API_KEY=… python examples/loops/openai_responses.py "What does this project do?"
"""

import json
import os
import sys

import openai

import holdfast
from tools import RESPONSES_TOOLS, run_tool

client, model = openai.OpenAI(), os.environ.get("OPENAI_MODEL", "gpt-5.2")
with holdfast.Session(
    budget="128k", system="You are brief.", tools=RESPONSES_TOOLS, store="agent.db"
) as session:
    session.append({"role": "user", "content": sys.argv[1]})
    while True:
        packed = session.pack()
        try:
            reply = client.responses.create(
                model=model,
                input=packed.messages,
                tools=packed.tools,
                store=False,
                include=["reasoning.encrypted_content"],
            )
        except openai.APIStatusError as error:
            if session.report(error):
                continue
            raise
        session.append(reply)
        calls = [item for item in reply.output if item.type == "function_call"]
        for call in calls:
            if not session.answer(call):
                text = run_tool(call.name, json.loads(call.arguments))
                session.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
        if not calls:
            break
print(reply.output_text)
