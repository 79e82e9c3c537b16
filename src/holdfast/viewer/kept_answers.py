"""Answers of the viewer that a page brings along, instead of asking for them.

Rule: bounded. A text that many answers have is kept once, and what would make them too large is not kept at all.
"""

from collections.abc import Mapping

import msgspec

from holdfast.drawings import embedded
from holdfast.messages import Json

TEXT = "$"
"""The one key of an object that is the number of a text."""
SHORT = 16
"""A text up to this length takes no more room than its number."""


class KeptAnswers:
    """`size` is that of all bounded answers, in bytes as embedded."""

    def __init__(self, most: int) -> None:
        self.size = 0
        self._most = most
        self._answers: dict[str, Json] = {}
        self._numbers: dict[str, int] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._answers

    def add(self, answers: Mapping[str, object], *, is_bounded: bool = True) -> bool:
        """Keep all of these by their path, or none where they are too large."""
        texts: dict[str, int] = {}
        kept = {path: self._shared(msgspec.to_builtins(value), texts) for path, value in answers.items()}
        if is_bounded:
            size = len(embedded(kept).encode()) + len(embedded(list(texts)).encode())
            if self.size + size > self._most:
                return False
            self.size += size
        self._answers |= kept
        self._numbers |= texts
        return True

    def value(self) -> dict[str, Json]:
        return {"answers": self._answers, "texts": list(self._numbers)}

    def _shared(self, value: Json, new: dict[str, int]) -> Json:
        if isinstance(value, str) and len(value) > SHORT:
            number = self._numbers.get(value)
            return {TEXT: new.setdefault(value, len(self._numbers) + len(new)) if number is None else number}
        if isinstance(value, dict):
            return {key: self._shared(each, new) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._shared(each, new) for each in value]
        return value
