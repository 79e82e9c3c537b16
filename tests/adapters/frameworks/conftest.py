"""Tests of one framework each, which run in the environment of that framework alone."""

from importlib.metadata import PackageNotFoundError, version

PACKAGES = {
    "agent_framework": "agent-framework-core",
    "google_adk": "google-adk",
    "langchain": "langchain",
    "litellm": "litellm",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai-slim",
    "strands": "strands-agents",
}
"""The package that each framework's tests need."""


def is_installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


collect_ignore = [f"test_{name}.py" for name, package in PACKAGES.items() if not is_installed(package)]
