"""Secrets in the lines of a summary, also one that a model spread over several of them.

Rule: a line's own secret is replaced; of a secret that only shows when lines stand together, the model's lines go.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.compaction.forms.content import Line
from holdfast.redaction import find_secrets, redact


def has_secret(line: Line) -> bool:
    return bool(find_secrets(line.text))


def redacted(line: Line) -> Line:
    return replace(line, text=redact(line.text))


def spread_over(lines: Sequence[Line]) -> list[int]:
    """Numbers of a model's lines that hold part of a secret together with others."""
    joined = "\n".join(line.text for line in lines)
    found: set[int] = set()
    for secret in find_secrets(joined):
        start = 0
        for number, line in enumerate(lines):
            end = start + len(line.text)
            if secret.start < end and secret.end > start and line.by == "model":
                found.add(number)
            start = end + 1
    return sorted(found)
