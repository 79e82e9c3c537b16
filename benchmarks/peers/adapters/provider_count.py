"""Tokens of a request as the provider at its end counts them, for libraries that go by usage and overflow.

Rule: counted as the replay counts, being a provider's word; the library's own estimate stays as it is.
"""

import json
from collections.abc import Callable
from functools import cache

from splintr import Tokenizer

from peers.adapters.serve import Message


class ProviderCount:
    """Each distinct text is counted once."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, message: Message) -> int:
        texts = [message["role"], message.get("content") or ""]
        for call in message.get("tool_calls") or ():
            texts += call["name"], json.dumps(call["arguments"], ensure_ascii=False, separators=(",", ":"))
        return sum(map(self._tokens, texts))

    def _tokens(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(_encoder()(text.encode("utf-8", "replace").decode()))
        return self._known[text]


@cache
def _encoder() -> Callable[[str], list[int]]:
    return Tokenizer.from_pretrained("o200k_base").encode_ordinary
