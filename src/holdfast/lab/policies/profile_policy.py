"""Our own packing as a policy: a profile's window, fed message by message.

Rule: nothing of packing is changed or repeated here; messages go in as events, a pack comes out as messages.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec
from msgspec.structs import asdict, replace

from holdfast.events import AssistantReplied, Entry, Event, LogStarted, ToolReturned, UserSaid
from holdfast.ids import entry_id, text_id
from holdfast.lab.policy import NamedPolicy, PolicyReply, Task
from holdfast.lab.scored_message import read_message
from holdfast.messages import AssistantMessage, Image, Message, ToolCall
from holdfast.packing.counting.tokens import Family, TokenCounter
from holdfast.packing.lines.line_index import LogLineIndex
from holdfast.packing.lines.weights import Weights, WeightVectors
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.packing.rendering.levels import long_strings
from holdfast.packing.unused_settings import unused_settings
from holdfast.packing.window import Window
from holdfast.tokenizers import load_tokenizer
from holdfast.wire.content_blocks import CallNames, WireDict
from holdfast.wire.message_lists import events_from_message
from holdfast.wire.openai import join_openai, openai_message

SCORED = Family("scored", image="tiles512", per_message=1, per_call=0)
"""Counts as the scorer does: a role is one token, a call its name and arguments. Pictures, which the scorer does
not count, make it an upper bound."""

MakeLineIndex = Callable[[WeightVectors], LogLineIndex]

NOT_SENT = ("reasoning", "reasoning_content")


def profile_policy(profile: Profile, weights: Weights | None = None) -> NamedPolicy:
    """Our packing with this profile, built in or a user's own, and with other weights for lines if given."""
    # Its marks as shares of the budget, since that is what they become.
    trigger, low = (round(100 * mark / profile.window) for mark in (profile.trigger, profile.low_water))
    about = (
        f"our packing, folds from {trigger}% of the budget down to {low}%, "
        f"keeps {profile.keep} {profile.keep_unit}, older results as {profile.result_old}"
    )
    return NamedPolicy(profile.name, partial(ProfilePacking, profile, weights), about)


class WindowFeed:
    """A window that is fed a recording's messages, as they would come from an agent.

    `texts` are all that a mark or an index may name.
    """

    def __init__(
        self,
        profile: Profile,
        task: Task,
        weights: Weights | None = None,
        line_index: MakeLineIndex = LogLineIndex,
    ) -> None:
        # A budget of replay is for messages alone, and they may take all of it: no room is kept for the reply, so
        # that trigger and low-water mark are shares of the budget itself and the hard limit is the budget.
        settings = replace(profile.scaled_to(task.budget), reply_tokens=0)
        if (prices := task.prices) and "cache_read" not in unused_settings(asdict(settings)):
            settings = replace(
                settings, cache_read=prices.read, cache_write=prices.write, cache_seconds=prices.life_seconds
            )
        counter = TokenCounter(load_tokenizer(), SCORED)
        self.window = Window(settings, counter, weights=weights, line_index=line_index)
        self.texts: list[str] = []
        self.entries: list[str] = []
        """The entry of each message; empty where it has none."""
        self._names = CallNames()
        self._read = 0
        self._seq = 0
        # An imported log: no usage was reported for requests of ours, and nothing is calibrated on it.
        self._add(LogStarted(origin="import"), None)

    def read(self, messages: Sequence[WireDict], at: float | None) -> None:
        for message in messages[self._read :]:
            before = self.window.last_entry
            for event in events_from_message(_plain(message), "openai", names=self._names, opening=False):
                self._add(event, at)
            self.entries.append(self.window.last_entry if self.window.last_entry != before else "")
        self._read = len(messages)

    def _add(self, event: Event, at: float | None) -> None:
        self._seq += 1
        parent = self.window.last_entry or None
        id_ = entry_id("", self._seq, parent, msgspec.json.encode(event))
        self.window.add(Entry(id_, "", self._seq, parent, event, at=at))
        self.texts += _strings(event)
        self._names.note(event)


class ProfilePacking:
    def __init__(
        self,
        profile: Profile,
        weights: Weights | None,
        task: Task,
        line_index: MakeLineIndex = LogLineIndex,
    ) -> None:
        self.feed = WindowFeed(profile, task, weights, line_index)
        self._texts: dict[str, str] = {}
        """Texts by id. Ids are made when one is asked for: few replays follow any."""
        self._written: dict[int, tuple[Message, list[WireDict]]] = {}
        """What a pack has in common with the one before is not written again. By identity; the message beside its
        dicts keeps its id taken."""

    def pack(self, messages: Sequence[WireDict], at: float | None) -> PolicyReply:
        self.feed.read(messages, at)
        window = self.feed.window
        for fold in fold_if_due(window):
            self.feed.texts += (note.index for note in fold.notes)
        packed = pack(window.view())
        layers: dict[str, int] = {layer.name: layer.tokens for layer in packed.layers if layer.messages}
        written = [self._written.get(id(m)) or (m, flat_message(m)) for m in packed.messages]
        self._written = {id(one[0]): one for one in written}
        return PolicyReply(join_openai(messages for _, messages in written), layers=layers)

    def fetch(self, id: str) -> str | None:  # noqa: A002 - the word of the interface
        self._texts.update((text_id(text), text) for text in self.feed.texts)
        self.feed.texts.clear()
        return self._texts.get(id)


def flat_message(message: Message) -> list[WireDict]:
    """A message as policies have it. Images of a result come after it."""
    wired = openai_message(message)
    if wired and isinstance(message, AssistantMessage) and message.calls:
        wired[0]["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.raw or call.arguments}
            for call in message.calls
        ]
    return wired


def _plain(message: WireDict) -> WireDict:
    """A message without what the scorer neither counts nor reads: thinking, and the seams between texts.

    Texts counted one by one would come out smaller than the text they are joined into.
    """
    plain = {key: value for key, value in message.items() if key not in NOT_SENT}
    content = message.get("content")
    if isinstance(content, list) and not any(isinstance(p, dict) and "image_url" in p for p in content):
        plain["content"] = read_message(message).text
    return plain


def _strings(event: Event) -> Iterator[str]:
    """The texts of an event that a pack may cut, and so name."""
    if isinstance(event, UserSaid | ToolReturned | AssistantReplied):
        for part in event.parts:
            if isinstance(part, ToolCall):
                yield from long_strings(part.arguments)
            elif isinstance(part, Image):
                yield part.data or part.url
            else:
                yield part.text


PROFILES = tuple(map(profile_policy, BUILT_IN.values()))
