"""Short definitions of tools: fewer words and a lean schema, for a window in which every token counts.

Rule: only the definition differs. The tool itself is the same: it accepts every argument, also those that the short
definition does not name, and reports what is wrong with a call.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.messages import Json, ToolDefinition
from holdfast.tools.tool import DefinedTool, Tool

_TOOLS = {
    "AskUser": ("ask_user", ""),
    "Bash": ("shell/bash", ""),
    "BashOutput": ("shell/bash_output", "bytes"),
    "BashStop": ("shell/bash_stop", ""),
    "Edit": ("files/edit", "dry_run"),
    "Glob": ("search/glob", "include_ignored max_results sort"),
    "Grep": ("search/grep", "ignore_case include_ignored literal max_results show sort"),
    "LS": ("search/ls", "max_results"),
    "MultiEdit": ("files/multi_edit", "dry_run"),
    "Read": ("files/read", "column encoding raw"),
    "Recall": ("recall", "chars"),
    "TodoWrite": ("todo_write", ""),
    "Write": ("files/write", "dry_run"),
}
"""Where each tool is, and which arguments are too rare for a short definition. Some are named by a result when they
are needed, such as `column` where a line is cut."""


class ShortPrompt(Struct, frozen=True):
    """The short prompt of a tool, the full one that it replaces, and optional arguments that it does not name."""

    short: str
    full: str = ""
    without: tuple[str, ...] = ()


def short_prompt_beside(module: str, *without: str) -> ShortPrompt:
    """The prompts beside a tool's module: `read.short.md`, and `read.md` where the full one is a file too."""
    short, full = (Path(module).with_suffix(suffix) for suffix in (".short.md", ".md"))
    prompt = full.read_text("utf-8").strip() if full.exists() else ""
    return ShortPrompt(short.read_text("utf-8").strip(), prompt, without)


def short_prompts() -> dict[str, ShortPrompt]:
    """The short prompts of the tools in this package, by name."""
    here = Path(__file__).parent
    return {
        name: short_prompt_beside(str(here / f"{place}.py"), *rare.split())
        for name, (place, rare) in _TOOLS.items()
    }


def with_short_definition(tool: Tool, known: Mapping[str, ShortPrompt]) -> Tool:
    """The same tool with a short text and schema; unchanged if there is no short prompt. What a tool adds to its
    full prompt, as Bash does about its sandbox, holds for this very tool, so its first sentence stays."""
    brief, full = known.get(tool.name), tool.definition
    if brief is None:
        return tool
    prompt = full.description
    behind = prompt[len(brief.full) :].split(". ")[0] if brief.full and prompt.startswith(brief.full) else ""
    text = f"{brief.short}{behind.rstrip('.')}." if behind else brief.short
    short = ToolDefinition(full.name, text, lean_schema(full.schema, brief.without))
    return DefinedTool(short, tool.run, tool.is_read_only)


def lean_schema(schema: dict[str, Json], without: Collection[str] = ()) -> dict[str, Json]:
    """Names and types, without limits and descriptions, and without optional properties of these names."""
    lean: dict[str, Json] = {key: schema[key] for key in ("type", "enum") if key in schema}
    required = schema.get("required", [])
    if "properties" in schema:
        lean["properties"] = {
            name: lean_schema(one if name in required else _given(one), without)
            for name, one in schema["properties"].items()
            if name in required or name not in without
        }
    if required:
        lean["required"] = required
    if "items" in schema:
        lean["items"] = lean_schema(schema["items"], without)
    if "anyOf" in schema:
        lean["anyOf"] = [lean_schema(one, without) for one in schema["anyOf"]]
    return lean


def _given(schema: dict[str, Json]) -> dict[str, Json]:
    """The schema of an optional property when it is given: `null` means that it is not."""
    choices: list[dict[str, Json]] = [one for one in schema.get("anyOf", []) if one != {"type": "null"}]
    if len(choices) == 1:
        return choices[0]
    return {**schema, "anyOf": choices} if choices else schema
