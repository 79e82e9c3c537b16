"""Run a log through the packer as an agent would: a fold if one is due, a pack before every reply."""

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from holdfast.events import AssistantReplied, Entry, Folded
from holdfast.packing.counting.families import FAMILIES
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.layers import Pack
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.pack import pack
from holdfast.packing.profile import Profile
from holdfast.packing.window import Window
from holdfast.tokenizers import load_tokenizer


@cache
def counter() -> TokenCounter:
    return TokenCounter(load_tokenizer(), FAMILIES["openai"])


class Request(Struct):
    """A request as it was made: after how many entries, with which folds before it."""

    at: int
    window: Window
    folds: list[Folded]
    pack: Pack
    settled: bool


def pack_each_request(entries: list[Entry], profile: Profile) -> Iterator[Request]:
    window = Window(profile, counter())
    for at, entry in enumerate(entries):
        if isinstance(entry.event, AssistantReplied):
            yield request(window, at)
        window.add(entry)
    yield request(window, len(entries))


def request(window: Window, at: int) -> Request:
    folds = fold_if_due(window)
    return Request(at, window, folds, pack(window.view()), window.transcript.has_all_results)
