"""A provider's prompt cache, simulated: what of a prompt is read, what is written, and what both cost.

Rule: whole blocks only. Anthropic's cache has entries where marks ask for them, and a mark looks back 20 blocks;
the others' works by itself and needs a prefix of 1,024 tokens. An entry that is not used within its life is gone.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate

from msgspec.structs import replace

from clients.wires.values import Asked, Bill, PromptBlock, canonical
from holdfast.models.catalogue import (
    CAUTIOUS_MINIMUM,
    MILLION,
    ModelEntry,
    load_catalogue,
)
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.tokenizers import counter_for_model

LOOKS_BACK = 20
HOUR = 3_600.0
HOUR_WRITE = 2.0
"""What an hour costs to write, as a multiple of plain input."""
STEP = 128
"""OpenAI counts hits in such steps."""
PROVIDERS = {"anthropic": "anthropic", "chat": "openai", "responses": "openai", "gemini": "google"}


def entry_of(wire: str, model: str) -> ModelEntry:
    return load_catalogue().entry(f"{PROVIDERS[wire]}/{model}")


@cache
def counter_of(model: str) -> TokenCounter:
    return counter_for_model(model)


def block_tokens(model: str, block: PromptBlock) -> int:
    counter = counter_of(model)
    # A message costs a few tokens beside its text; so does the definition of a tool.
    return counter.text(block.text) + (counter.family.per_message if block.section == "messages" else 0)


def prompt_tokens(asked: Asked) -> int:
    return sum(block_tokens(asked.model, block) for block in asked.blocks)


def dollars(wire: str, model: str, bill: Bill) -> float | None:
    """The price of a request; None where the model's is not known."""
    price = entry_of(wire, model).price_of(bill.prompt)
    if price is None:
        return None
    short = bill.write - bill.write_hour
    cost = bill.plain * price.input + bill.read * price.read + short * price.write
    return (cost + bill.write_hour * price.input * HOUR_WRITE + bill.output * price.output) / MILLION


class PromptCache:
    """Entries by what they hold. `clock` says the time in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ends: dict[str, float] = {}
        """When an entry is gone, by the digest of all that comes before its end."""
        self._lives: dict[str, float] = {}

    def bill(self, wire: str, asked: Asked) -> Bill:
        """What of this prompt is read and written; the entries are there for the next request."""
        entry = entry_of(wire, asked.model)
        tokens = [0, *accumulate(block_tokens(asked.model, block) for block in asked.blocks)]
        digests = _digests(wire, asked)
        if wire == "anthropic":
            return self._marked(asked.blocks, digests, tokens, entry.cache_minimum or CAUTIOUS_MINIMUM)
        return self._automatic(wire, digests, tokens, entry)

    def _marked(
        self, blocks: Sequence[PromptBlock], digests: Sequence[str], tokens: Sequence[int], minimum: int
    ) -> Bill:
        marks = [at for at, block in enumerate(blocks) if block.mark and tokens[at + 1] >= minimum]
        looked = {back for at in marks for back in range(max(0, at - LOOKS_BACK + 1), at + 1)}
        hit = max((at for at in looked if self._is_there(digests[at])), default=-1)
        read = tokens[hit + 1]
        if hit >= 0:
            self._keep(digests[hit], self._lives[digests[hit]])
        written = hour = 0
        for at in marks:
            if at > hit:
                new = tokens[at + 1] - read - written
                written += new
                hour += new if blocks[at].mark == "1h" else 0
                self._keep(digests[at], HOUR if blocks[at].mark == "1h" else 300.0)
            elif self._is_there(digests[at]):
                self._keep(digests[at], self._lives[digests[at]])
        return Bill(prompt=tokens[-1], read=read, write=written, write_hour=hour)

    def _automatic(self, wire: str, digests: Sequence[str], tokens: Sequence[int], entry: ModelEntry) -> Bill:
        minimum = entry.cache_minimum or CAUTIOUS_MINIMUM
        hit = max((at for at, digest in enumerate(digests) if self._is_there(digest)), default=-1)
        read = tokens[hit + 1] if tokens[hit + 1] >= minimum else 0
        if wire != "gemini":
            read -= read % STEP
        for digest in digests:
            self._keep(digest, entry.cache_seconds or 300.0)
        is_paid = entry.price is not None and entry.price.cache_write is not None and tokens[-1] >= minimum
        return Bill(prompt=tokens[-1], read=read, write=tokens[-1] - read if is_paid else 0)

    def _is_there(self, digest: str) -> bool:
        return self._ends.get(digest, 0.0) > self._clock()

    def _keep(self, digest: str, life: float) -> None:
        self._lives[digest] = life
        self._ends[digest] = self._clock() + life


def with_output(bill: Bill, model: str, said: str) -> Bill:
    return replace(bill, output=max(1, counter_of(model).text(said)))


def _digests(wire: str, asked: Asked) -> list[str]:
    """For each block, a digest of the model and of all blocks up to it."""
    digest = hashlib.sha256(f"{wire} {asked.model}".encode())
    # A change of these leaves tools and system in the cache, and nothing after them.
    switches = canonical([asked.body.get("tool_choice"), asked.body.get("thinking")])
    before, out = "", []
    for block in asked.blocks:
        if wire == "anthropic" and block.section == "messages" != before:
            digest.update(switches)
        before = block.section
        digest.update(block.section.encode() + b"\0" + block.data + b"\0")
        out.append(digest.hexdigest())
    return out
