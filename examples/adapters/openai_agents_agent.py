"""An agent of the OpenAI Agents SDK with a session of Holdfast: the items in a log on disk, and packed requests.

OPENAI_API_KEY=… python examples/adapters/openai_agents_agent.py "What does this project do?"
"""

import os
import sys
from pathlib import Path

from agents import Agent, Runner, function_tool
from holdfast.adapters.openai_agents import HoldfastSession, recall_tool


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


session = HoldfastSession("thread-1", budget="128k", store="agent.db")
agent = Agent(
    name="Reader",
    instructions="You are brief.",
    model=os.environ.get("OPENAI_MODEL", "gpt-5.2"),
    tools=[read_file, recall_tool],
)
result = Runner.run_sync(agent, sys.argv[1], session=session, run_config=session.run_config(), max_turns=50)
print(result.final_output)
