"""Numbers as people read them in messages, tables and reports: `12,342`, `1 step`, `12,342 steps`.

Rule: whatever a person reads is written here. Texts inside packs are not; what a tool tells the model counts
without commas.
"""

import re

_LARGE = re.compile(r"(?<![\w.,])\d{4,}(?![\w.,]*\d)")


def grouped(number: int) -> str:
    return f"{number:,}"


def counted(number: int, thing: str, things: str = "") -> str:
    return f"{grouped(number)} {thing if number == 1 else things or thing + 's'}"


def count_noun(number: int, noun: str, nouns: str = "") -> str:
    """`12342 lines`, for texts that a model reads."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def group_digits(sentence: str) -> str:
    """A recorded sentence with its numbers grouped."""
    return _LARGE.sub(lambda found: grouped(int(found[0])), sentence)


def format_size(size: int) -> str:
    """`812 bytes`, `1.4 MB`: decimal units, as for disks."""
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} TB"
