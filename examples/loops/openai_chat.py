"""An agent's loop with the OpenAI SDK (Chat Completions), and a log on disk.

OPENAI_API_KEY=… python examples/loops/openai_chat.py "What does this project do?"
"""

import json
import os
import sys

import openai

import holdfast
from tools import OPENAI_TOOLS, run_tool

client, model = openai.OpenAI(), os.environ.get("OPENAI_MODEL", "gpt-5.2")
with holdfast.Session(
    budget="128k", system="You are brief.", tools=OPENAI_TOOLS, store="agent.db"
) as session:
    session.append({"role": "user", "content": sys.argv[1]})
    while True:
        packed = session.pack()
        try:
            reply = client.chat.completions.create(model=model, messages=packed.messages, tools=packed.tools)
        except openai.APIStatusError as error:
            if session.report(error):  # too long for the model: the next pack is smaller
                continue
            raise
        session.append(reply)  # the message, with its usage
        calls = [call for call in reply.choices[0].message.tool_calls or [] if call.type == "function"]
        for call in calls:
            if not session.answer(call):  # Recall is answered by the session
                text = run_tool(call.function.name, json.loads(call.function.arguments))
                session.append({"role": "tool", "tool_call_id": call.id, "content": text})
        if not calls:
            break
print(reply.choices[0].message.content)
