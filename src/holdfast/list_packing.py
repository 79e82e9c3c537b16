"""Packing a list of messages, and the state that makes it cheap to pack the list again when it has grown.

Rule: what is kept never shows. A kept list is continued only where the given one begins with all of it, compared by
content, and where one walk over the longer list would have made the same folds; else the walk starts again.
"""

import operator
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.events import Entry, Event
from holdfast.log import RecordingImport
from holdfast.messages import Json
from holdfast.packing.lines.weights import Weights
from holdfast.packing.log_walk import LogWalk
from holdfast.packing.pack import pack as pack_window
from holdfast.packing.pack import rename_entries
from holdfast.packing.profile import Profile
from holdfast.packing.window import Window
from holdfast.recall import RECALL_TOOL
from holdfast.sender import Packed, PackRecord, Provider, Sender
from holdfast.session_settings import (
    check_messages,
    check_provider,
    check_texts,
    choose_profile,
    choose_redaction,
    choose_weights,
    read_tools,
)
from holdfast.store import MemoryStore
from holdfast.tokenizers import counter_for_model
from holdfast.views.transcript import Repair
from holdfast.wire.content_blocks import WireDict
from holdfast.wire.formats import format_named
from holdfast.wire.message_checks import checked_list
from holdfast.wire.message_lists import MessageListReader
from holdfast.wire.openai import openai_tool
from holdfast.wire.sdk_objects import plain_message, plain_tools

MOST_LISTS = 8
MOST_BYTES = 32_000_000
"""What the kept lists may take as JSON, all together."""


def pack(
    messages: Sequence[object],
    *,
    budget: int | str | None = None,
    profile: str | Profile = "code",
    weights: Weights | Path | str | None = None,
    system: str | list[WireDict] | None = None,
    tools: Sequence[object] | None = (),
    model: str = "",
    to: Provider | None = None,
) -> Packed:
    """A list of messages, packed: in the format they came in, or in that of `to`.

    The messages are OpenAI's (chat, or items of the Responses API), Anthropic's or Gemini's, as dicts or as objects
    of the SDK.

    Call it again with a longer list: the same folds are made again, so that the provider's cache keeps working. It
    then costs what is new; the pack is the same as that of a first call.

    - `budget`: the context window in tokens, such as 32000 or "32k", reply included; by default the profile's.
    - `profile`: "code", "rich", "lean" or another name, or a `Profile`.
    - `system`: a system prompt that is not among the messages.
    - `tools`: definitions that the request will carry; Recall is added to them.
    - `model`: says in which vocabulary tokens are counted.
    - `weights`: rank lines in place of the profile's; a path names a file that `holdfast fit` wrote.

    Raises InputError for messages that no provider would take, and ContextOverflow if even the least does not fit.
    """
    check_texts(model=model)
    own = check_provider(to) if to is not None else None
    given_tools = plain_tools(tools)
    read_tools(given_tools)
    offered = [*given_tools, openai_tool(RECALL_TOOL)]
    given = checked_list(messages)
    settings, ranking = choose_profile(profile, budget), choose_weights(weights)
    arguments = PackArguments(system, offered, settings, ranking, model, own)
    packer = KEPT.take(arguments, given)
    if packer is None:
        # Most lists are of plain dicts, and known as they are: objects of an SDK are converted only for the others.
        given = [plain_message(message, f"message {at}") for at, message in enumerate(given)]
        packer = KEPT.take(arguments, given)
    known = len(packer.messages) if packer else 0
    new = [plain_message(message, f"message {at}") for at, message in enumerate(given[known:], known)]
    if packer is None or not packer.append(new):
        packer = ListPacker(arguments, [*given[:known], *new])
    packed = packer.pack()
    if packer.is_plain:
        KEPT.keep(packer)
    return packed


class PackArguments(Struct, frozen=True, dict=True):
    """What a pack depends on besides the messages."""

    system: Json
    tools: list[WireDict]
    profile: Profile
    weights: Weights | None
    model: str
    to: Provider | None

    @cached_property
    def key(self) -> bytes:
        return msgspec.json.encode((self.profile, self.weights, self.model, self.to))

    def is_same(self, other: "PackArguments") -> bool:
        return self.key == other.key and same_json([self.system, self.tools], [other.system, other.tools])


class ListPacker:
    """A list of messages under some arguments, as far as it was packed."""

    def __init__(self, arguments: PackArguments, messages: list[Json]) -> None:
        self.is_plain = True
        """Whether everything given is plain JSON, of which a copy can be compared with what is given next."""
        self.messages: list[Json] = self._copied(messages)
        system, tools = self._copied([arguments.system, arguments.tools])
        self.arguments = replace(arguments, system=system, tools=tools)
        self._reader = MessageListReader(self.messages, system=system, tools=tools)
        self._import = RecordingImport(choose_redaction(arguments.profile))
        counter = counter_for_model(arguments.model)
        self._walk = LogWalk(Window(arguments.profile, counter, weights=arguments.weights))
        self._entries = 0
        came_in = format_named(self._reader.source).name
        self._sender = Sender(arguments.to or came_in, arguments.profile.cache_marks)
        self._recording = self._reader.recording()
        self._add_events(self._import.read(self._recording))

    @property
    def size(self) -> int:
        return self._reader.size

    def append(self, messages: list[Json]) -> bool:
        """Continue with messages that came since. False where the list must be read from its beginning."""
        if not messages:
            return True
        if not self._reader.can_append(messages):
            return False
        new = self._copied(messages)
        self._reader.append(new)
        self.messages += new
        self._recording = self._reader.recording()
        events = self._import.read(self._recording)
        if events and not self._walk.can_continue_with(events[0]):
            return False
        self._add_events(events)
        return True

    def pack(self) -> Packed:
        self._walk.make_room()
        view = self._walk.window.view()
        packed, repairs, folds = pack_window(view), view.transcript.repairs, tuple(self._walk.folds)
        write = self._import.writer(self._recording)
        unread = (*self._recording.notes, *self._orphans(view.transcript.unplaced.values()))

        def make_record() -> PackRecord:
            store = MemoryStore()
            log = write(store)
            for fold in folds:
                log.keep_indices(fold)
            # An id in a log depends on all of the list, and so is not the one in the walk.
            ids = {_entry_id(row.seq): row.id for row in store.read(log.id).rows}
            return PackRecord(rename_entries(packed, repairs, ids), store, log.id, unread)

        return check_messages(self._sender.send_recorded(packed, make_record))

    def _orphans(self, unplaced: Iterable[Repair]) -> Iterator[str]:
        """Results without a call, by their place: providers refuse them, and others' trimming leaves them."""
        for repair in unplaced:
            place = self._recording.places[_entry_seq(repair.entry) - 1]
            yield f"left out: message {place}, as {repair.detail}; put the reply with the call before it"

    def _add_events(self, events: list[Event]) -> None:
        for event in events:
            self._entries += 1
            self._walk.add(Entry(_entry_id(self._entries), "", self._entries, None, event))

    def _copied(self, value: Json) -> Json:
        try:
            return copy_json(value)
        except (TypeError, RecursionError):
            self.is_plain = False
            return value


class KeptLists:
    """The lists that were packed last. One that is in use is not here: two threads never have the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lists: list[ListPacker] = []

    def take(self, arguments: PackArguments, messages: list[Json]) -> ListPacker | None:
        """The longest list that the messages begin with, under the same arguments."""
        with self._lock:
            found = [one for one in self._lists if one.arguments.is_same(arguments)]
            found = [one for one in found if _begins_with(messages, one.messages)]
            if not found:
                return None
            longest = max(found, key=lambda one: len(one.messages))
            self._lists.remove(longest)
            return longest

    def keep(self, packer: ListPacker) -> None:
        with self._lock:
            self._lists.append(packer)
            while len(self._lists) > MOST_LISTS or sum(one.size for one in self._lists) > MOST_BYTES:
                del self._lists[0]

    def clear(self) -> None:
        with self._lock:
            self._lists.clear()


KEPT = KeptLists()


def _entry_id(seq: int) -> str:
    return f"e{seq}"


def _entry_seq(entry: str) -> int:
    return int(entry.removeprefix("e"))


def _begins_with(messages: list[Json], kept: list[Json]) -> bool:
    """Compared from the end, where lists of different conversations differ at once."""
    if len(kept) > len(messages):
        return False
    return all(map(same_json, reversed(kept), messages[len(kept) - 1 :: -1]))


def copy_json(value: Json) -> Json:
    """A copy that nobody else can change. TypeError for what is not plain JSON: tuples and subclasses, say."""
    kind = type(value)
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise TypeError("a key is not a string")
        return {key: copy_json(item) for key, item in value.items()}
    if kind is list:
        return [copy_json(item) for item in value]
    if value is None or kind in (str, int, float, bool):
        return value
    raise TypeError(f"{kind} is not plain JSON")


def same_json(kept: Json, given: Json) -> bool:
    """Whether plain JSON is the same to the last bit, the order of keys and the types of numbers included."""
    kind = type(kept)
    if kind is not type(given):
        return False
    if kind is dict:
        return (
            len(kept) == len(given)
            and all(type(key) is str for key in given)
            and all(map(operator.eq, kept, given))
            and all(map(same_json, kept.values(), given.values()))
        )
    if kind is list:
        return len(kept) == len(given) and all(map(same_json, kept, given))
    return bool(kept == given) and (kind is not float or repr(kept) == repr(given))
