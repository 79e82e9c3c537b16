"""A baseline: a file of the project with known findings, so that only new ones are reported.

Rule: a file that is no baseline, or that of another project, is refused and never written over. Findings are known
by their ids, which do not depend on line numbers; the rest of an entry is for people. Entries are added, never
removed: a review sees one change, and cannot know that a finding elsewhere is gone.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.review.diff import Diff
from holdfast.review.finding import Finding
from holdfast.review.versions import is_downward

SCHEMA = "holdfast.review-baseline/1"
MOST_BYTES = 64 * 1024 * 1024


class BaselineEntry(Struct, frozen=True):
    id: str
    path: str
    rule: str = ""
    claim: str = ""


class _BaselineFile(Struct, frozen=True):
    schema: str
    findings: tuple[BaselineEntry, ...]


def read_baseline(path: Path, top: Path, diff: Diff) -> tuple[BaselineEntry, ...]:
    """**Contract:** raises `InputError` if the file cannot be read, is no baseline or is of another project."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"the baseline `{path}` is larger than {MOST_BYTES // 2**20} MiB")
        found = msgspec.json.decode(path.read_bytes(), type=_BaselineFile)
    except FileNotFoundError:
        raise InputError(f"there is no baseline `{path}`", hint="`--update-baseline` writes it") from None
    except OSError as error:
        raise InputError(f"the baseline `{path}` cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _no_baseline(path, str(error)) from None
    if found.schema != SCHEMA:
        raise _no_baseline(path, f"its schema is `{found.schema[:60]}`")
    if found.findings and not any(_is_here(entry.path, top, diff) for entry in found.findings):
        raise InputError(
            f"the baseline `{path}` is of another project: none of the files that it names is here",
            hint="name this project's baseline; if its files were all moved, delete it and write it again",
        )
    return found.findings


def _no_baseline(path: Path, why: str) -> InputError:
    return InputError(
        f"`{path}` is not a baseline: {why}",
        hint="restore it, or delete it and write it with `--update-baseline`",
    )


def _is_here(path: str, top: Path, diff: Diff) -> bool:
    if any(path in (file.path, file.old_path) for file in diff.files):
        return True
    try:
        return is_downward(path) and (top / path).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def baseline_text(known: Iterable[BaselineEntry], findings: Iterable[Finding]) -> str:
    """The file with these findings added, in an order that does not depend on that of the findings."""
    entries = {entry.id: entry for entry in known}
    entries |= {one.id: BaselineEntry(one.id, one.path, one.rule, one.claim) for one in findings}
    rows: list[Any] = [
        msgspec.to_builtins(entry) for entry in sorted(entries.values(), key=lambda one: (one.path, one.id))
    ]
    text = json.dumps({"schema": SCHEMA, "findings": rows}, ensure_ascii=False, indent=1)
    return text.encode("utf-8", "replace").decode() + "\n"
