"""A Strands agent whose requests fit a budget, in a session that goes on when this is run again.

pip install . strands-agents
AWS_REGION=us-west-2 python examples/adapters/strands_agent.py "What does this project do?"
"""

import os
import sys
from pathlib import Path

from strands import Agent, tool
from strands.session import FileSessionManager

from holdfast.adapters.strands import HoldfastConversationManager


@tool
def read_file(path: str) -> str:
    """Read a text file."""
    return Path(path).read_text("utf-8")


agent = Agent(
    model=os.environ.get("BEDROCK_MODEL", "global.anthropic.claude-sonnet-5"),
    tools=[read_file],
    conversation_manager=HoldfastConversationManager(budget="128k", store="agent.db"),
    session_manager=FileSessionManager(session_id="example", storage_dir="sessions"),
    callback_handler=None,
)
print(agent(sys.argv[1]))
