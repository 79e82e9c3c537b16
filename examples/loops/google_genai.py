"""An agent's loop with the google-genai SDK, asynchronous, and a log on disk.

GEMINI_API_KEY=… python examples/loops/google_genai.py "What does this project do?"
"""

import asyncio
import os
import sys

from google import genai
from google.genai import errors, types

import holdfast
from tools import GEMINI_TOOLS, run_tool


async def main(question: str) -> str | None:
    client, model = genai.Client(), os.environ.get("GEMINI_MODEL", "gemini-3-flash")
    with holdfast.Session(
        budget="128k", system="You are brief.", tools=GEMINI_TOOLS, store="agent.db"
    ) as session:
        session.append({"role": "user", "parts": [{"text": question}]})
        while True:
            packed = await session.apack()
            config = types.GenerateContentConfig(system_instruction=packed.system, tools=packed.tools)
            try:
                reply = await client.aio.models.generate_content(
                    model=model, contents=packed.messages, config=config
                )
            except errors.APIError as error:
                if session.report(error):
                    continue
                raise
            session.append(reply)
            calls = reply.function_calls or []
            for call in calls:
                if not session.answer(call):
                    answer = {"output": run_tool(call.name or "", call.args or {})}
                    response = {"id": call.id, "name": call.name, "response": answer}
                    session.append({"role": "user", "parts": [{"functionResponse": response}]})
            if not calls:
                return reply.text


print(asyncio.run(main(sys.argv[1])))
