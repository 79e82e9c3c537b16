"""Tests of one framework each, which run in the environment of that framework alone."""

from importlib.util import find_spec

MODULES = {
    "agent_framework": "agent_framework",
    "google_adk": "google.adk",
    "langchain": "langchain",
    "litellm": "litellm",
    "openai_agents": "agents.run",
    "pydantic_ai": "pydantic_ai",
    "strands": "strands",
}
"""The module that each framework's tests import. A folder of our own tests is called `agents` too."""


def is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


collect_ignore = [f"test_{name}.py" for name, module in MODULES.items() if not is_there(module)]
