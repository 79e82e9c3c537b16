"""Rules that a person approved for good, each for one project: `yes, always in this project`.

Rule: one JSON object a line in a file of the person's own, which no command below `full` can write. A line that
cannot be read is skipped, never obeyed.
"""

import contextlib
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.config import is_in_folder

FILE = "approved-rules.jsonl"


class ApprovedRule(Struct, frozen=True):
    root: str
    allow: str


def is_out_of_reach(folder: Path, root: Path) -> bool:
    """Whether the person's own settings lie outside a workspace, where an agent cannot write them."""
    return not is_in_folder(folder, root)


def approved_rules(folder: Path, root: Path) -> list[str]:
    """The rules for a project, oldest first. Those without a path hold in its folders too. `folder` has the
    person's own settings; if an agent could write them, there are no rules."""
    if not is_out_of_reach(folder, root):
        return []
    above = {str(parent) for parent in root.parents}
    return list(
        dict.fromkeys(
            one.allow
            for one in _read(folder / FILE)
            if one.root == str(root) or (one.root in above and one.allow.startswith(("Bash", "mcp__")))
        )
    )


def approve_rule(folder: Path, root: Path, rule: str) -> None:
    """Keep a rule. OSError if the file cannot be written, or if an agent could write it."""
    if not is_out_of_reach(folder, root):
        raise OSError(f"`{folder}` lies in the workspace, where commands could write rules of their own")
    if ApprovedRule(str(root), rule) in _read(folder / FILE):
        return
    folder.mkdir(parents=True, exist_ok=True)
    line = msgspec.json.encode(ApprovedRule(str(root), rule)) + b"\n"
    # One write at the end of the file, so that two agents at once lose nothing.
    descriptor = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "ab", buffering=0) as file:  # noqa: PTH123 - a descriptor
        file.write(line)


def forget_rule(folder: Path, root: Path, rule: str) -> bool:
    """Take a rule back, for this folder and those above it; whether it was there."""
    roots = {str(one) for one in (root, *root.parents)}
    rules = _read(folder / FILE)
    kept = [one for one in rules if one.allow != rule or one.root not in roots]
    if len(kept) == len(rules):
        return False
    fresh = folder / f"{FILE}.{os.getpid()}"
    fresh.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in kept))
    fresh.chmod(0o600)
    fresh.replace(folder / FILE)
    return True


def _read(path: Path) -> list[ApprovedRule]:
    found: list[ApprovedRule] = []
    with contextlib.suppress(OSError):
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line, type=ApprovedRule))
    return found
