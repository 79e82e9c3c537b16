"""An agent with Pydantic AI that stays within its budget however long it works, and a log on disk.

OPENAI_API_KEY=… python examples/adapters/pydantic_ai_agent.py "What does this project do?"
"""

import os
import sys
from pathlib import Path

from pydantic_ai import Agent

from holdfast.adapters.pydantic_ai import Holdfast

agent = Agent(
    os.environ.get("MODEL", "openai:gpt-5.2"),
    instructions="You are brief.",
    capabilities=[Holdfast(budget="128k", store="agent.db")],
)


@agent.tool_plain
def list_files(folder: str = ".") -> str:
    """The files of a folder."""
    return "\n".join(sorted(str(path) for path in Path(folder).iterdir()))


@agent.tool_plain
def read_file(path: str) -> str:
    """A text file."""
    return Path(path).read_text(encoding="utf-8")


print(agent.run_sync(sys.argv[1]).output)
