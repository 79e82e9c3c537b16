"""An agent with Microsoft Agent Framework that stays within its budget however long it works, and a log on disk.

OPENAI_API_KEY=… python examples/adapters/agent_framework_agent.py "What does this project do?"
"""

import asyncio
import os
import sys
from pathlib import Path

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

from holdfast.adapters.agent_framework import HoldfastContextProvider


def list_files(folder: str = ".") -> str:
    """The files of a folder."""
    return "\n".join(sorted(str(path) for path in Path(folder).iterdir()))


def read_file(path: str) -> str:
    """A text file."""
    return Path(path).read_text(encoding="utf-8")


agent = Agent(
    OpenAIChatClient(model=os.environ.get("OPENAI_MODEL", "gpt-5.2")),
    "You are brief.",
    tools=[list_files, read_file],
    default_options={"store": False},  # the history is here and not at the service
    context_providers=[HoldfastContextProvider("128k", store="agent.db")],
)
print(asyncio.run(agent.run(sys.argv[1], session=agent.create_session())).text)
