"""The model of the tour: a script that plays one beat for each request.

Rule: no network, no key, no randomness. Everything around it is real: the loop, the tools, the packing, the log; it
knows of the repository only what it is sent.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import takewhile
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.messages import AssistantPart, Text, ToolCall, ToolMessage, Usage
from holdfast.models.catalogue import ModelEntry, Price
from holdfast.models.model import ModelReply, ModelRequest, ReplyCompleted, StreamEvent, TextDelta
from holdfast.models.scripted import CHARS_PER_TOKEN


class Beat(Struct, frozen=True):
    """What is said, and the calls that go with it. `plain` is said instead where there is no screen."""

    says: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    plain: str = ""


def _todos(*states: str) -> tuple[str, dict[str, Any]]:
    items = ("Find out why the total is wrong", "Fix it as it was decided", "See the tests pass")
    return "TodoWrite", {"todos": [{"content": c, "status": s} for c, s in zip(items, states, strict=True)]}


DECISIONS = "docs/decisions.md"
TESTS = "python3 -m unittest"
EDITS = [
    {
        "old_string": "from decimal import ROUND_HALF_UP, Decimal",
        "new_string": "from decimal import ROUND_HALF_EVEN, Decimal",
    },
    {"old_string": "rounding=ROUND_HALF_UP", "new_string": "rounding=ROUND_HALF_EVEN"},
]

FIXED = (
    "Fixed: `shop/prices.py:9` now rounds half a cent to the even neighbour, as decision 17 says, "
    "and the tests pass."
)
FAREWELL = (
    "Every session is kept in a log and can be resumed, but the log of this tour is deleted with its scratch "
    "repository.\n\nWith a model of your own: `holdfast --model provider/name`. `holdfast models` lists them."
)

BEATS = (
    Beat(
        "Welcome. I am a script and not a model, but all else here is real: the loop, the tools, the files, the "
        "log and the packing. The shop in this folder has a wrong price. I make a list and look around.",
        (_todos("in_progress", "pending", "pending"), ("LS", {"path": "."})),
    ),
    Beat(
        "Several calls in one reply run at the same time.",
        (
            ("Read", {"path": "shop/prices.py"}),
            ("Read", {"path": "shop/cart.py"}),
            ("Read", {"path": DECISIONS}),
        ),
    ),
    Beat("Now the tests, in a real shell.", (("Bash", {"command": TESTS}),)),
    Beat(
        "One fails by a cent. I look through the logs; they are long, and the window of this tour is small.",
        (("Read", {"path": "logs/orders.log", "offset": 1, "limit": 90}),),
    ),
    Beat(
        "And the other one. Watch the status line: it comes close to where a fold begins.",
        (("Read", {"path": "logs/parcels.log", "offset": 1, "limit": 90}),),
        plain="And the other one. Watch the tokens in brackets: they come close to where a fold begins.",
    ),
    Beat("How often does something wait?", (("Grep", {"pattern": "state=waiting"}),)),
    Beat(
        "By now earlier steps were folded: a note with the lines that matter and the ids of the rest has taken "
        "their place. What was decided about rounding is no longer there, so I bring it back with Recall.",
        (("Recall", {"query": "decision half a cent"}),),
    ),
    Beat(
        "It was decided: to the even neighbour. The code rounds up. I look at the place once more.",
        (("Read", {"path": "shop/prices.py"}),),
    ),
    Beat("The smallest change that is right:", (("MultiEdit", {"path": "shop/prices.py", "edits": EDITS}),)),
    Beat("Does it hold?", (("Bash", {"command": TESTS}), _todos("completed", "completed", "completed"))),
    Beat(
        f"{FIXED}\n\nWhat you saw: a todo list, calls side by side, a window that was folded when it filled up, "
        "a folded text brought back to the letter, an edit with its diff, and on the status line the room, the "
        f"cache and the cost. {FAREWELL}",
        plain=f"{FIXED}\n\nWhat you saw: a todo list, calls that ran at the same time, a window that was folded "
        "when it filled up, a folded text brought back with Recall, an edit, and at the end the tokens, the cache "
        f"and the cost. {FAREWELL}",
    ),
)


PACED, PLAIN = "tour/paced", "tour/plain"
"""At reading speed for a person who watches, and at once for a pipe."""
WINDOW = 13_000
ENTRY = ModelEntry(
    name=PACED,
    window=WINDOW,
    price=Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
    cache_seconds=300,
)
"""With made-up prices, so that the status line has something to count."""
PIECE = 6
SECONDS_A_PIECE = 0.02


def tour_model(name: str) -> "tuple[TourModel, ModelEntry]":
    return TourModel(name), replace(ENTRY, name=name)


class TourModel:
    """Plays the script, one beat for each request, and repeats the last beat at the end."""

    def __init__(self, name: str = PLAIN) -> None:
        self.name = name
        self._seconds = SECONDS_A_PIECE if name == PACED else 0.0
        self._sent = b""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        reply = self._reply(request)
        for piece in re.findall(rf".{{1,{PIECE}}}", reply.text, re.DOTALL):
            yield TextDelta(piece)
            await asyncio.sleep(self._seconds)
        yield ReplyCompleted(reply)

    async def aclose(self) -> None:
        """Nothing is open."""

    def _reply(self, request: ModelRequest) -> ModelReply:
        if not request.tools:  # A summary is asked for, and the rules write it.
            return ModelReply(parts=(), stop="end", usage=Usage(0), model=self.name)
        # The newest call in the request names its beat. Folded steps are gone, so they are not counted.
        told = [
            int(message.call_id.split("_")[1])
            for message in request.messages
            if isinstance(message, ToolMessage) and message.call_id.startswith("tour_")
        ]
        number = min(max(told, default=-1) + 1, len(BEATS) - 1)
        beat = BEATS[number]
        calls = [ToolCall(f"tour_{number}_{place}", *call) for place, call in enumerate(beat.calls)]
        says = beat.plain if beat.plain and self.name == PLAIN else beat.says
        parts: tuple[AssistantPart, ...] = (Text(says), *calls)
        usage = self._usage(request, len(msgspec.json.encode(parts)) // CHARS_PER_TOKEN)
        return ModelReply(parts=parts, stop="calls" if calls else "end", usage=usage, model=self.name)

    def _usage(self, request: ModelRequest, output: int) -> Usage:
        """Counted as a provider with a prefix cache would: what begins as the last request did was kept."""
        sent = msgspec.json.encode((request.tools, request.messages))
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(sent, self._sent, strict=False)))
        self._sent = sent
        prompt, cached = len(sent) // CHARS_PER_TOKEN, same // CHARS_PER_TOKEN
        return Usage(prompt, output, cache_read=cached, cache_write=prompt - cached)
