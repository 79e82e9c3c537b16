"""Secrets that a change adds.

Rule: the secret itself is never repeated, and a secret that the change also removes is not new.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, groupby
from threading import Thread

from holdfast.redaction import SecretSpan, find_secrets, kingfisher_problem
from holdfast.redaction.randomness import is_random_run, long_runs
from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.checks.secret_evidence import report_severity
from holdfast.review.diff import Diff, DiffLine, FileChange
from holdfast.review.file_types import is_lock_file
from holdfast.review.finding import SEVERITIES, Finding

SECRET = ReviewRule(
    "secret",
    "A secret is added",
    "Anyone who can read any copy of a repository knows a key, token or password in it, for good. Read it from the "
    "environment or a secret store, and replace it: treat it as compromised.",
    "high",
    "security",
)
RULES = (SECRET,)


def preload_scanner(diff: Diff) -> Thread | None:
    """Load the second scanner in the background, if a line will need it: that takes half a second."""
    if not any(_looks_random(file) for file in diff.files):
        return None
    loading = Thread(target=kingfisher_problem, daemon=True)
    loading.start()
    return loading


def _looks_random(file: FileChange) -> bool:
    if file.change == "deleted" or is_lock_file(file.path):
        return False
    return any(is_random_run(run) for line in file.lines("+") for run in long_runs(line.text))


def check(change: CheckInput) -> Iterator[Finding]:
    removed = "\n".join(change.removed_texts)
    for file in change.files():
        if file.change != "deleted":
            yield from _in_file(change, file, removed)


def _in_file(change: CheckInput, file: FileChange, removed: str) -> Iterator[Finding]:
    lines = [line for hunk in file.hunks for line in hunk.lines if line.kind != "-"]
    if not any(line.kind == "+" for line in lines):
        return
    # Unchanged lines are read too: what makes a value secret may be in the line before.
    text = "\n".join(line.text for line in lines)
    found = find_secrets(text, kingfisher=not is_lock_file(file.path))
    advice = "Read it from the environment or a secret store, and replace it where it is in use."
    reported: set[str] = set()
    last_block = -1  # the last line of a key block, which is one finding
    for line, secrets in _by_line(lines, found):
        values = {text[one.start : one.end] for one in secrets}
        is_in_block = secrets[0].rule == "private_key" and line.new == last_block + 1
        if secrets[0].rule == "private_key" and line.kind == "+":
            last_block = line.new
        if is_in_block or line.kind != "+" or values <= reported or all(value in removed for value in values):
            continue
        judged = [
            (severity, one.rule)
            for one in secrets
            if (severity := report_severity(file.path, one.rule, text[one.start : one.end], line.text))
        ]
        if not judged:
            continue
        reported |= values
        severity, rule = max(judged, key=lambda one: SEVERITIES.index(one[0]))
        kind = rule.removeprefix("kingfisher.").replace("_", " ")
        yield change.finding(
            SECRET, file, [line], f"A secret is added here ({kind}).", advice, severity=severity
        )


def _by_line(lines: list[DiffLine], found: list[SecretSpan]) -> Iterator[tuple[DiffLine, list[SecretSpan]]]:
    """Lines with the secrets in them; a secret is inside one line."""
    ends = list(accumulate(len(line.text) + 1 for line in lines))
    for at, secrets in groupby(found, key=lambda one: bisect_right(ends, one.start)):
        yield lines[at], list(secrets)
