"""An agent of Google's ADK whose requests fit a budget, in a session that goes on when this is run again.

pip install . google-adk
GEMINI_API_KEY=… python examples/adapters/google_adk_agent.py "What does this project do?"
"""

import asyncio
import os
import sys
from pathlib import Path

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from holdfast.adapters.google_adk import HoldfastPlugin


def read_file(path: str) -> str:
    """Read a text file."""
    return Path(path).read_text("utf-8")


async def main(question: str) -> None:
    agent = Agent(name="reader", model=os.environ.get("GEMINI_MODEL", "gemini-3-flash"), tools=[read_file])
    app = App(name="example", root_agent=agent, plugins=[HoldfastPlugin(budget="128k", store="agent.db")])
    sessions = SqliteSessionService("sessions.db")
    runner = Runner(app=app, session_service=sessions, auto_create_session=True)
    message = types.UserContent(question)
    async for event in runner.run_async(user_id="me", session_id="example", new_message=message):
        if event.is_final_response():
            print(event.content.parts[-1].text)


asyncio.run(main(sys.argv[1]))
