"""An agent of LangChain's that stays within 128,000 tokens, with a log on disk.

OPENAI_API_KEY=… python examples/adapters/langchain_agent.py "What does this project do?"
"""

import sys
from pathlib import Path
from uuid import uuid4

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from holdfast.adapters.langchain import HoldfastMiddleware


def read_file(path: str) -> str:
    """Read a text file."""
    return Path(path).read_text("utf-8")


agent = create_agent(
    "openai:gpt-5.2",
    tools=[read_file],
    system_prompt="You are brief.",
    middleware=[HoldfastMiddleware(budget="128k", store="agent.db")],  # adds the tool Recall
    checkpointer=InMemorySaver(),
)
thread = {"configurable": {"thread_id": str(uuid4())}}
state = agent.invoke({"messages": [{"role": "user", "content": sys.argv[1]}]}, thread)
print(state["messages"][-1].text)
