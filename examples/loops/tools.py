"""Two small tools, and the same definitions in the form that each provider wants."""

from collections.abc import Mapping
from pathlib import Path

TOOLS = [
    {
        "name": "list_files",
        "description": "List the files of a folder.",
        "schema": {"type": "object", "properties": {"folder": {"type": "string"}}, "required": ["folder"]},
    },
    {
        "name": "read_file",
        "description": "Read a text file.",
        "schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
]

OPENAI_TOOLS = [
    {
        "type": "function",
        "function": {"name": t["name"], "description": t["description"], "parameters": t["schema"]},
    }
    for t in TOOLS
]
RESPONSES_TOOLS = [
    {"type": "function", "name": t["name"], "description": t["description"], "parameters": t["schema"]}
    for t in TOOLS
]
ANTHROPIC_TOOLS = [
    {"name": t["name"], "description": t["description"], "input_schema": t["schema"]} for t in TOOLS
]
GEMINI_TOOLS = [
    {
        "functionDeclarations": [
            {"name": t["name"], "description": t["description"], "parametersJsonSchema": t["schema"]}
            for t in TOOLS
        ]
    }
]


def run_tool(name: str, arguments: Mapping[str, object]) -> str:
    """The answer of a tool; what went wrong is an answer too."""
    try:
        if name == "list_files":
            return "\n".join(sorted(entry.name for entry in Path(str(arguments["folder"])).iterdir()))
        if name == "read_file":
            return Path(str(arguments["path"])).read_text("utf-8")
        return f"there is no tool {name}"
    except (OSError, KeyError, UnicodeDecodeError) as error:
        return f"{type(error).__name__}: {error}"
