"""`/diff`: what the agent, its sub-agents and commands changed in this session, compared with what was there
before.

Rule: it shows and changes nothing. A diff shows the disk as it is now, and says if someone else changed a file too.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.history import describe_irreversible
from holdfast.agents.commands.markdown import bullets, code, fenced, joined
from holdfast.agents.outcomes import CommandAnswer
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.file_text import load_file
from holdfast.tools.files.line_diff import first_rows, line_changes, unified_diff
from holdfast.tools.files.seen_files import AgentEdit, path_of
from holdfast.tools.files.snapshots import content_hash
from holdfast.tools.files.text_encoding import (
    decode,
    detect_encoding,
    split_lines,
    unify_line_endings,
)

MOST_ROWS = 400
"""How many rows of one file's diff are shown."""
MOST_CREATED, MOST_CREATED_ROWS = 10, 40
"""How many files that commands created are shown, and how many rows of each."""

GIT_SECONDS = 10.0
GIT = (
    # Nothing that the repository's configuration names is run.
    *("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("diff", "--stat", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    *("HEAD", "--"),
)


_FileDiff = tuple[Sequence[str], str]
"""The rows of one file's diff, and a remark."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if argument:
        raise DIFF.unexpected(argument)
    changed = await asyncio.to_thread(_changes, coding)
    rows = [row for lines, _ in changed for row in lines]
    stat = await _git_stat(Path(coding.workspace.roots[0]))
    left = describe_irreversible(coding.tool_state, 0)
    nothing = "" if left else "The agent's edits changed no file in this session."
    return CommandAnswer(
        joined(
            fenced("\n".join(rows), "diff") if rows else nothing,
            bullets(note for _, note in changed if note),
            left,
            joined("`git diff --stat HEAD`, with everyone's changes:", fenced(stat)) if stat else "",
        )
    )


def _changes(coding: CodingSession) -> list[_FileDiff]:
    """One diff for each edited file, in the order of the first edits, then those for files that commands
    created."""
    chains: dict[str, list[AgentEdit]] = {}
    for made in coding.tool_state.files.edits:
        chains.setdefault(made.key, []).append(made)
    created = dict.fromkeys(one.path for one in coding.tool_state.irreversible if one.how == "created")
    new = [path for path in created if path not in chains][:MOST_CREATED]
    return [
        *(_changed(coding, chain) for chain in chains.values()),
        *(_created(coding, path) for path in new),
    ]


def _created(coding: CodingSession, path: str) -> _FileDiff:
    """A file that a command created, as it is now; empty if it cannot be shown."""
    try:
        raw = _now(coding, path)
        lines = _lines(raw, path) if raw is not None else None
    except ToolError:
        lines = None
    if lines is None:
        return (), ""
    hunks = first_rows(unified_diff([], lines, line_changes([], lines)), MOST_CREATED_ROWS)
    return ("--- /dev/null", f"+++ {path}", *hunks), ""


def _changed(coding: CodingSession, chain: Sequence[AgentEdit]) -> _FileDiff:
    first, last = chain[0], chain[-1]
    before = coding.tool_state.files.snapshots.get(first.before) if first.before else b""
    if before is None:
        return (), f"The earlier content of {code(first.path)} was not kept."
    try:
        now = _now(coding, first.key)
    except ToolError as error:
        return (), f"{error.message}."
    hash_ = "" if now is None else content_hash(now)
    note = "" if hash_ == last.after else f"{code(first.path)} was also changed by someone else."
    if hash_ == first.before:
        return (), note
    old, new = _lines(before, first.path), _lines(now or b"", first.path)
    heads = (
        f"--- {first.path if first.before else '/dev/null'}",
        f"+++ {first.path if now is not None else '/dev/null'}",
    )
    if old is None or new is None:
        return (*heads, "(not a text)"), note
    hunks = first_rows(unified_diff(old, new, line_changes(old, new)), MOST_ROWS)
    return (*heads, *(hunks or ["(only line endings differ)"])), note


def _now(coding: CodingSession, key: str) -> bytes | None:
    """A file's bytes; None if it does not exist."""
    try:
        return load_file(coding.workspace, path_of(key)).raw
    except ToolError as error:
        if error.code == "NOT_FOUND":
            return None
        raise


def _lines(raw: bytes, shown: str) -> list[str] | None:
    """The lines of a text; None if it is not a text."""
    if not raw:
        return []
    encoding = detect_encoding(raw)
    return split_lines(unify_line_endings(decode(raw, encoding, shown))) if encoding else None


async def _git_stat(folder: Path) -> str:
    """Git's statistics against the last commit; empty without a repository, a commit or git."""
    try:
        process = await asyncio.create_subprocess_exec(
            *GIT,
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(GIT_SECONDS):
            out, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    return out.decode("utf-8", "replace").rstrip() if process.returncode == 0 else ""


DIFF = SlashCommand("diff", "/diff", "what the agent changed in this session", _run)
