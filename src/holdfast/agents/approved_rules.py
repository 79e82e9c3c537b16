"""Rules that a person approved for good, each for one project: `yes, always in this project`.

Rule: one JSON object a line in a file of the person's own, which no command of an agent can write. A line that
cannot be read is skipped, never obeyed.
"""

import contextlib
import os
from pathlib import Path

import msgspec
from msgspec import Struct

FILE = "approved-rules.jsonl"


class ApprovedRule(Struct, frozen=True):
    root: str
    allow: str


def approved_rules(folder: Path, root: Path) -> list[str]:
    """The rules for a project, oldest first. `folder` has the person's own settings."""
    mine = (one.allow for one in _read(folder / FILE) if one.root == str(root))
    return list(dict.fromkeys(mine))


def approve_rule(folder: Path, root: Path, rule: str) -> None:
    """Keep a rule. OSError if the file cannot be written."""
    if rule in approved_rules(folder, root):
        return
    folder.mkdir(parents=True, exist_ok=True)
    line = msgspec.json.encode(ApprovedRule(str(root), rule)) + b"\n"
    # One write at the end of the file, so that two agents at once lose nothing.
    descriptor = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "ab", buffering=0) as file:  # noqa: PTH123 - a descriptor
        file.write(line)


def forget_rule(folder: Path, root: Path, rule: str) -> bool:
    """Take a rule back; whether it was there."""
    rules = list(_read(folder / FILE))
    kept = [one for one in rules if one != ApprovedRule(str(root), rule)]
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
