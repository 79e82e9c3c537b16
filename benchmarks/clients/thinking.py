"""Thinking blocks that are bound to what came before them, as newer Claude models have them.

Rule: a signature says under which prefix its block was made and which block came before it. A changed prefix or a
gap in the chain is found; blocks missing from the start of the history are no gap.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clients.wires.values import Body, Breach, canonical, objects

THINKING = ("thinking", "redacted_thinking")
BOUND_MODELS = (
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
)
"""Models whose thinking is bound to its prefix; for all others only the signature itself must be valid."""
BILLING = "x-anthropic-billing-header"
"""How a block of the system prompt begins that one client adds for its bill, and that no model is shown."""


class Signature(Struct, frozen=True):
    """What a signature says. `before` is the id of the thinking block before this one."""

    id: str
    before: str
    prefix: str
    model: str


class ThinkingSigner:
    """Signs what it hands out, and judges what comes back."""

    def __init__(self, bound: Sequence[str] = BOUND_MODELS) -> None:
        self.bound = tuple(bound)
        self._key = secrets.token_bytes(32)
        self._texts: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        """Calls that were made with a thought, with their model."""

    def sign(
        self, body: Body, messages: Sequence[tuple[int, Body]], text: str, calls: Sequence[str] = ()
    ) -> str:
        """The signature of a block that is said in reply to these messages, before these calls."""
        known = [s for _, _, block in blocks_of(messages) if (s := self.read(block.get("signature")))]
        signature = Signature(
            secrets.token_hex(8), known[-1].id if known else "", _prefixes(body, messages)[-1], body["model"]
        )
        self._texts[signature.id] = text
        self._calls |= dict.fromkeys(calls, signature.model)
        payload = msgspec.json.encode(signature)
        return base64.b64encode(payload + b"|" + self._mac(payload)).decode()

    def read(self, given: Any) -> Signature | None:
        """What a signature says; None for one that was not made here."""
        try:
            payload, _, mac = base64.b64decode(given, validate=True).rpartition(b"|")
            return (
                msgspec.json.decode(payload, type=Signature)
                if hmac.compare_digest(mac, self._mac(payload))
                else None
            )
        except (ValueError, TypeError, msgspec.DecodeError):
            return None

    def judge(self, body: Body, messages: Sequence[tuple[int, Body]], beta: str) -> list[Breach]:
        """The rules A06 to A08."""
        found: list[Breach] = []
        prefixes = _prefixes(body, messages)
        last = max((at for at, (_, m) in enumerate(messages) if m.get("role") == "assistant"), default=-1)
        before = None
        for at, place, block in blocks_of(messages):
            if block["type"] != "thinking":
                continue
            where = f"messages.{messages[at][0]}.content.{place}"
            signature = self.read(block.get("signature"))
            if signature is None:
                found.append(Breach("A07", f"{where}: Invalid `signature` in `thinking` block"))
                continue
            if at == last and block.get("thinking") != self._texts.get(signature.id):
                words = (
                    "blocks in the latest assistant message cannot be modified. These blocks must remain as"
                )
                rest = "they were in the original response."
                found.append(Breach("A06", f"{where}: `thinking` or `redacted_thinking` {words} {rest}"))
            # A block of another model is dropped without a word.
            if signature.model == body.get("model") in self.bound and not _is_dropped(body, beta):
                moved = signature.prefix != prefixes[at]
                if moved or (before is not None and signature.before != before):
                    why = "its prefix was changed" if moved else "a block before it is missing"
                    words = (
                        "Invalid signature in thinking block. The block is bound to a different conversation"
                    )
                    found.append(Breach("A08", f"{where}: {words}: {why}."))
            before = signature.id
        if not _is_dropped(body, beta):
            found += self._missing_at_end(body, messages)
        return found

    def _missing_at_end(self, body: Body, messages: Sequence[tuple[int, Body]]) -> list[Breach]:
        """A08 where thoughts are left out from the end of the history, while earlier ones are there."""
        last = max((at for at, _, _ in blocks_of(messages)), default=len(messages))
        model = body.get("model")
        return [
            Breach("A08", f"messages.{number}: The thinking block before `tool_use` is missing.")
            for number, message in messages[last + 1 :]
            if model in self.bound
            and any(
                self._calls.get(str(block.get("id"))) == model for block in objects(message.get("content"))
            )
        ]

    def _mac(self, payload: bytes) -> bytes:
        return hmac.new(self._key, payload, "sha256").hexdigest().encode()


def blocks_of(messages: Sequence[tuple[int, Body]]) -> list[tuple[int, int, Body]]:
    """All thinking blocks: the place of the message in the list, that of the block, and the block."""
    return [
        (at, place, block)
        for at, (_, message) in enumerate(messages)
        for place, block in enumerate(objects(message.get("content")))
        if block.get("type") in THINKING
    ]


def _is_dropped(body: Body, beta: str) -> bool:
    """Whether the client asked to drop blocks that do not fit, instead of being refused."""
    thinking = body.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    asked = isinstance(binding, Mapping) and binding.get("prefix_mismatch_behavior") == "drop_block"
    return asked and "thinking-binding-controls-2026-08-01" in beta


def _prefixes(body: Body, messages: Sequence[tuple[int, Body]]) -> list[str]:
    """What comes before each message, and before the reply: system, tools, messages without thinking."""
    system = body.get("system")
    shown = [b for b in objects(system) if not str(b.get("text")).startswith(BILLING)] or system
    tools = [tool for tool in objects(body.get("tools")) if tool.get("defer_loading") is not True]
    digest = hashlib.sha256(canonical([shown, tools]))
    found = [digest.hexdigest()]
    for _, message in messages:
        content = [b for b in objects(message.get("content")) if b.get("type") not in THINKING]
        digest.update(canonical({**message, "content": content}))
        found.append(digest.hexdigest())
    return found
