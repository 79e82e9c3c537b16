"""What an agent's program writes around the output of a tool: lines above and below it, and the exit code.

Rule: only the ends of a result are read, since the middle is the tool's own. A line is taken for a wrapper's only
where the whole wrapper has the shape that some agent gives it.
"""

import re
from collections.abc import Sequence

HEAD, TAIL = 600, 400
"""Characters at either end of a result in which a wrapper speaks of the exit code."""
MOST_ROWS = 40
"""Lines at either end of a result in which a wrapper is looked for."""

_WRAPPED_HEADS = re.compile(
    # Codex
    r"(?:(?:Chunk ID: \S+|Exit code: -?\d+|Wall time:? [\d.]+ seconds|Process (?:exited with code -?\d+"
    r"|running with session ID \d+)|Original token count: \d+"
    r"|Script (?:completed|failed|running with cell ID \S+))\n)+"
    r"Output:\n(?:Warning: truncated output[^\n]*\n|Total output lines: \d+\n|\n)*"
    # mini-swe-agent, background commands of Claude Code
    r"|(?:<exception>[^\n]*\n)?<returncode>-?\d+</returncode>\n(?:<warning>\n(?:[^\n]*\n){1,6}?</warning>\s?)?"
    r"(?:<output(?:_head)?>\n)?"
    r"|(?:<(?:retrieval_status|task_id|task_type|status|exit_code)>[^\n]*\n+)+(?:<output>\n)?"
    # opencode
    r"|<path>[^\n]*</path>\n<type>\w+</type>\n<(?:content|entries)>\n|<file>\n(?=\d{5}\| )"
    # Gemini CLI, Qwen Code
    r"|IMPORTANT: The file content has been truncated\.\n(?:[^\n]*\n){1,10}?--- FILE CONTENT \(truncated\) ---\n"
    r"|Command: [^\n]*\n(?:(?!Directory: )[^\n]*\n){0,20}?Directory: [^\n]*\n"
    # SWE-agent, OpenHands, tools that look into code
    r"|\[File: [^\n]* \(\d+ lines total\)\]\r?\n(?:\(\d+ more lines? above\)\r?\n)?"
    r"|Here's the result of running `cat -n` on [^\n]*:\n|--- Observation ---\n(?:-{10,}\n)?"
)
_FOOT = re.compile(
    r"<shellId: \S+ completed with exit code -?\d+>|<(?:command )?(?:exited|completed) with exit code -?\d+>"
    r"|<command with shellId[^\n]*>|\(End of (?:file|directory)[^\n]*\)"
    r"|\[The command completed with exit code -?\d+\.?\]|Command exited with code -?\d+"
    r"|\[(?:Current working directory|Python interpreter): [^\n]*\]|Shell cwd was reset to [^\n]*"
    r"|\((?:Open file|Current directory): [^\n]*\)"
    r"|\(\d+ more lines? below\)|bash-\$|(?:Exit Code|Signal|Error|Stderr): (?:-?\d+|\(none\)|\(empty\))"
    r"|(?:Background PIDs|Process Group PGID): [^\n]*"
)
_CLOSING = re.compile(r"</(?:output|output_tail|content|entries|file)>|-{10,}")
"""Ends a wrapper that has a head."""
_REMINDER = "system-reminder>"

_CODE_AT_HEAD = re.compile(
    r"\s*Exit code:? (\d{1,3})\b|(?:[^\n]*\n){0,5}Process exited with code (\d{1,3})\b"
    r"|(?:[^\n]*\n){0,12}<(?:returncode|exit_code)>(\d{1,3})<"
    r"|(?:[^\n]*\n){0,6}\{[^\n]{0,200}\"exit_code\": ?(\d{1,3})\b"
    r"|\{[^\n]{0,400}\"(?:exit_code|exitCode|returncode)\": ?(\d{1,3})\b"
)
_CODE_AT_TAIL = re.compile(
    r"(?i)(?:\bexited|(?:command|shellId: \S{1,60}) (?:finished|failed|completed)) with (?:exit )?code:?"
    r" (\d{1,3})\b"
    r"|\"exit_?code\": ?(\d{1,3})\b|[(\[<]exit code:? (\d{1,3})[)\]>.]|\A\s*exit code:? (\d{1,3})\s*\Z"
    r"|\n(?:exit code|exit status):? (\d{1,3})\s*(?:\Z|\n(?:Signal|Background PIDs|Process Group PGID): )"
)


def output_rows(lines: Sequence[str]) -> range:
    """The lines that a tool returned, of those that its agent's program made of them."""
    first = min(len(lines), MOST_ROWS)
    found = _WRAPPED_HEADS.match("\n".join([*lines[:first], ""]))
    start = found[0].count("\n") if found else 0
    end = len(lines)
    least = max(start, end - MOST_ROWS)
    while end > least:
        row = lines[end - 1].strip()
        if row == f"</{_REMINDER}":
            opened = (
                n for n in range(end - 1, least - 1, -1) if lines[n].lstrip().startswith(f"<{_REMINDER}")
            )
            end = next(opened, -1)
            if end < 0:
                return range(start, len(lines))
        elif not row or _FOOT.fullmatch(row) or (found and _CLOSING.fullmatch(row)):
            end -= 1
        else:
            break
    if end <= start:
        return range(start, start) if found else range(len(lines))
    # Blank lines are the tool's own where nothing follows them.
    return range(start, len(lines) if not any(row.strip() for row in lines[end:]) else end)


def output_text(text: str) -> str:
    """What a tool returned, without what is around it."""
    lines = text.split("\n")
    rows = output_rows(lines)
    return text if len(rows) == len(lines) else "\n".join(lines[rows.start : rows.stop])


def exit_code(text: str) -> int | None:
    """The exit code that a result gives, at its head or its tail; None where it gives none."""
    head, tail = text[:HEAD], text[-TAIL:]
    # Letters that all shapes have (`exitCode` too): to look for them first takes a tenth of the time.
    found = _CODE_AT_HEAD.match(head) if "ode" in head else None
    if found is None and ("code" in (told := tail.lower()) or "status" in told):
        found = _CODE_AT_TAIL.search(tail)
    return next((int(code) for code in found.groups() if code is not None), None) if found else None
