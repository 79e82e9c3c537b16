"""Skill: the instructions of one skill, loaded when they are used, with its arguments filled in.

Rule: the definition fits its budget and says what it leaves out. The text of a skill is read from disk at each use,
and commands in it are never run here. Placeholders are filled in one pass; what was filled in is not scanned again.

`$ARGUMENTS` is all arguments, `$ARGUMENTS[0]` and `$0` the first, `$name` one that the head declares. A number
without an argument stays as written, since `$5` may be a price. A backslash keeps a placeholder as it is.
"""

import os
import re
import shlex
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.errors import HoldfastError
from holdfast.messages import Json
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.skill_files import Skill, Skills
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

LONGEST_TEXT = 1_000_000
"""Characters of a filled text. Many placeholders and a long argument could otherwise fill the memory."""

# An empty name would match every dollar sign.
_NAME = re.compile(r"\w[\w-]*")
_FORM = r"(\\?)\$(?:ARGUMENTS\[(\d{1,3})\]|(ARGUMENTS)\b|(\d{1,3})\b|\{(\w+)\}"


class FilledTextTooLong(ValueError):
    """The filled text would be longer than `LONGEST_TEXT`."""


def fill_placeholders(text: str, arguments: str, names: Sequence[str], folder: str, first: int = 0) -> str:
    """The text with its placeholders filled; arguments that no placeholder used are added below. `$` and `first`
    is the first argument. Raises `FilledTextTooLong`."""
    try:
        given = shlex.split(arguments)
    except ValueError:  # A quote is not closed.
        given = arguments.split()
    named = {
        name: given[n] if n < len(given) else "" for n, name in enumerate(names) if _NAME.fullmatch(name)
    }
    longest_first = "|".join(re.escape(name) for name in sorted(named, key=len, reverse=True))
    pattern = re.compile(_FORM + (rf"|({longest_first})(?![\w-]))" if named else ")"))
    used, length = False, len(text)

    def bounded(found: re.Match[str]) -> str:
        nonlocal length
        filled = value(found)
        length += len(filled)
        if length > LONGEST_TEXT:
            raise FilledTextTooLong
        return filled

    def value(found: re.Match[str]) -> str:
        nonlocal used
        if found[1]:
            return found[0][1:]
        if found[5]:
            return folder if found[5].endswith("SKILL_DIR") else found[0]
        number = int(found[2] or found[4] or 0) - (first if found[4] else 0)
        is_numbered = bool(found[2] or found[4])
        if is_numbered and not 0 <= number < len(given):
            return found[0]
        used = True
        if is_numbered:
            return given[number]
        return arguments if found[3] else named[found[6]]

    filled = pattern.sub(bounded, text)
    return filled if used or not arguments.strip() else f"{filled}\n\nARGUMENTS: {arguments}"


BUDGET = 8_000
"""Characters that the list of skills may take in the definition."""

SHORTEST = 24
"""If descriptions would be cut to fewer characters than this, only names are listed."""

MOST_FILES = 40
MOST_LOOKED_AT = 2_000

INLINE_COMMAND = re.compile(r"!`[^`\n]+`")


class SkillArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="The skill's name, as listed.")]
    arguments: Annotated[str, Meta(max_length=20_000, description="What it is to work on.")] = ""


def skill_tool(skills: Skills, budget: int = BUDGET) -> Tool:
    prompt = f"{prompt_beside(__file__)}\n\n{list_skills(list(skills.by_name.values()), budget)}"
    return TypedTool("Skill", SkillArguments, prompt, partial(load_skill, skills=skills), is_read_only=True)


def list_skills(skills: list[Skill], budget: int = BUDGET) -> str:
    """The skills by name, with as much of their descriptions as fits the budget: names come first, then argument
    hints, then descriptions."""
    listed = [skill for skill in skills if not skill.is_for_people_only]
    if not listed:
        return "There are no skills."
    heads = [f"- {skill.name}" + (skill.argument_hint and f" {skill.argument_hint}") for skill in listed]
    if _length(heads) > budget:
        heads = [f"- {skill.name}" for skill in listed]
    if _length(heads) > budget:
        # Those whose names do not fit can still be loaded by name.
        fitting = sum(end <= budget for end in accumulate(len(head) + 3 for head in heads))
        more = f"The names of {len(heads) - fitting} more skills do not fit {budget} characters."
        return "\n".join(["Skills:", *heads[:fitting], f"({more})"])
    cap = _cap([len(skill.description) for skill in listed], budget - _length(heads))
    cut = sum(len(skill.description) > cap for skill in listed)
    if cut and cap < SHORTEST:
        left_out = f"The descriptions of {len(listed)} skills are left out"
        return "\n".join(["Skills:", *heads, f"({left_out}: they do not fit {budget} characters.)"])
    texts = [skill.description for skill in listed]
    short = [text if len(text) <= cap else text[: cap - 1].rstrip() + "…" for text in texts]
    rows = [f"{head}: {text}" for head, text in zip(heads, short, strict=True)]
    if cut:
        rows.append(f"({cut} of {len(listed)} descriptions are cut to {cap} characters.)")
    return "\n".join(["Skills:", *rows])


def _length(heads: list[str]) -> int:
    return sum(len(head) + 3 for head in heads)


def _cap(lengths: list[int], room: int) -> int:
    """The greatest length to which texts can be cut so that all fit: short ones leave room for long ones."""
    left = room
    for number, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - number)
        if length > share:
            return max(share, 0)
        left -= length
    return max(lengths, default=0)


async def load_skill(arguments: SkillArguments, workspace: Workspace, *, skills: Skills) -> ToolResult:
    skills.refresh()
    name = arguments.name.strip().lstrip("/")
    skill = skills.by_name.get(name)
    if skill is None:
        names = [other.name for other in skills.by_name.values() if not other.is_for_people_only]
        near = [other for other in names if name and (name in other or other in name)]
        hint = f"There are: {', '.join((near or names)[:50])}" if names else "There are no skills"
        raise ToolError("NOT_FOUND", f"there is no skill `{name[:80]}`", hint=hint)
    if skill.is_for_people_only:
        raise ToolError("ACCESS_DENIED", f"the skill `{name}` can only be started by the user")
    folder = _shown(skill.path.parent, workspace)
    files, is_cut = _files(skill)
    try:
        filled = fill_placeholders(skill.body, arguments.arguments, skill.argument_names, folder)
    except FilledTextTooLong:
        raise ToolError(
            "INVALID_PARAM",
            f"with these arguments the skill `{name}` has more than {LONGEST_TEXT} characters",
            hint="Give it shorter arguments",
        ) from None
    text = "\n".join([f"Skill `{name}`, in {folder}", *_about(skill, files, is_cut), "", filled])
    data: dict[str, Json] = {
        "name": name,
        "folder": folder,
        "files": len(files),
        "allowed_tools": list(skill.allowed_tools),
    }
    return tool_result(text, f"skill {name}", data=data)


def _about(skill: Skill, files: list[str], is_cut: bool) -> list[str]:
    lines = []
    if files:
        more = len(files) - MOST_FILES
        rest = f" and {'at least ' if is_cut else ''}{more} more" if more > 0 else ""
        lines.append(f"Files that belong to it: {', '.join(files[:MOST_FILES])}{rest}")
    if skill.allowed_tools:
        lines.append(f"Tools it is written for: {', '.join(skill.allowed_tools)}")
    if INLINE_COMMAND.search(skill.body):
        lines.append("Commands written as !`…` were not run; run them yourself where you need their output.")
    return lines


def _shown(folder: Path, workspace: Workspace) -> str:
    """The folder as other tools name it; the absolute path if it lies outside the workspace."""
    try:
        return workspace.locate(str(folder)).shown
    except ToolError:
        return printable_path(str(folder))


def _files(skill: Skill) -> tuple[list[str], bool]:
    """The files below a skill's folder, and whether there were too many to list. The folder is opened once, so that
    one that has become a link shows nothing from elsewhere."""
    folder = skill.path.parent
    try:
        with Workspace([skill.within or folder]).open_directory(str(folder)) as opened:
            return _names_below(opened.descriptor)
    except HoldfastError:
        return [], False


def _names_below(descriptor: int) -> tuple[list[str], bool]:
    found: list[str] = []
    looked = 0
    for here, folders, names, _ in os.fwalk(".", dir_fd=descriptor):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        inner = here.removeprefix(".").lstrip("/")
        for name in sorted(names):
            looked += 1
            if looked > MOST_LOOKED_AT:
                return found, True
            path = f"{inner}/{name}" if inner else name
            if path != "SKILL.md" and not name.startswith("."):
                found.append(printable_path(path))
    return found, False
