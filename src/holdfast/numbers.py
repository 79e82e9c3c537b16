"""Numbers as people read them in messages, tables and reports: `12,342`, `1 step`, `12,342 steps`.

Rule: whatever a person reads is written here. Texts inside packs are not; what a tool tells the model counts
without commas.
"""


def grouped(number: int) -> str:
    return f"{number:,}"


def counted(number: int, thing: str, things: str = "") -> str:
    return f"{grouped(number)} {thing if number == 1 else things or thing + 's'}"


def count_noun(number: int, noun: str, nouns: str = "") -> str:
    """`12342 lines`, for texts that a model reads."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
