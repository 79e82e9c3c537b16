"""A rule that finds secrets, and what it finds: spans of a text, each inside one line.

Rule: a span never holds the secret itself, so a report of what was found can be written anywhere.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

MARK = "<REDACTED>"


class SecretSpan(Struct, frozen=True, order=True):
    """A secret at `text[start:end]`, and the name of the rule that found it."""

    start: int
    end: int
    rule: str


class SecretRule(Struct, frozen=True):
    """A pattern whose group `v` is the secret.

    The pattern runs only on texts with one of the `anchors`: a substring search costs 3 µs for 4 kB, a pattern ten
    times that.
    """

    name: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Callable[[re.Match[str]], bool] = bool

    def find(self, text: str, lower: str | None = None) -> Iterator[SecretSpan]:
        """What the pattern finds in `text`; anchors are looked for in `lower` where it is given."""
        haystack = text if lower is None else lower
        if any(anchor in haystack for anchor in self.anchors):
            for match in self.pattern.finditer(text):
                if self.accept(match):
                    yield SecretSpan(match.start("v"), match.end("v"), self.name)
