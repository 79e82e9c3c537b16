"""The tools as the agent's model sees them, in OpenAI's function shape."""

from typing import Any

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer", "minimum": 1}


def _tool(name: str, description: str, required: dict[str, Schema], optional: dict[str, Schema]) -> Schema:
    parameters = {"type": "object", "properties": required | optional, "required": list(required)}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


PATH = _described(STRING, "absolute path")
OLD = _described(STRING, "text to replace; must occur exactly once")
NEW = _described(STRING, "text to put in its place")
CHANGE: Schema = {
    "type": "object",
    "properties": {"old_string": OLD, "new_string": NEW},
    "required": ["old_string", "new_string"],
}
TODO: Schema = {
    "type": "object",
    "properties": {
        "content": STRING,
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
    },
    "required": ["content", "status"],
}

TOOLS = [
    _tool(
        "Read",
        "Read a text file. Lines come with their numbers, as `cat -n` prints them.",
        {"file_path": PATH},
        {"offset": _described(INTEGER, "first line"), "limit": _described(INTEGER, "number of lines")},
    ),
    _tool("LS", "List a folder and everything below it.", {"path": PATH}, {}),
    _tool(
        "Glob",
        "Find files whose path matches a pattern such as `**/*.py`.",
        {"pattern": STRING},
        {"path": _described(STRING, "folder to start from")},
    ),
    _tool(
        "Grep",
        "Search file contents with a regular expression. Answers with path, line number and line.",
        {"pattern": STRING},
        {
            "path": _described(STRING, "file or folder to search"),
            "glob": _described(STRING, "only files whose name matches"),
            "output_mode": {"type": "string", "enum": ["content", "files_with_matches"]},
        },
    ),
    _tool(
        "Edit",
        "Replace one piece of text in a file that you have read.",
        {"file_path": PATH, "old_string": OLD, "new_string": NEW},
        {},
    ),
    _tool(
        "MultiEdit",
        "Several replacements in one file, one after the other; if one does not fit, none is made.",
        {"file_path": PATH, "edits": {"type": "array", "items": CHANGE, "minItems": 1}},
        {},
    ),
    _tool(
        "Write",
        "Write a file as a whole; an existing one is replaced.",
        {"file_path": PATH, "content": STRING},
        {},
    ),
    _tool(
        "Bash",
        "Run a shell command in the working folder. Answers with its output and, if it failed, its exit code.",
        {"command": STRING},
        {"description": _described(STRING, "what the command does, in a few words")},
    ),
    _tool(
        "TodoWrite",
        "Save the todo list of the current task. The list given replaces the one before.",
        {"todos": {"type": "array", "items": TODO}},
        {},
    ),
]
