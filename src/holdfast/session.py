"""A session: append what happens, pack what to send, answer Recall. For agents with a loop of their own.

Rule: it owns no state that the log does not hold; closing it and opening the same log gives the same packs.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, get_args

from holdfast.errors import InputError, NotFound
from holdfast.events import AssistantReplied, Entry, Event, Folded, SystemSet, ToolsSet, Undone
from holdfast.log import Log
from holdfast.messages import ToolCall, ToolDefinition
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.lines.weights import HINT, Weights, read_weights
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.packing.window import Window
from holdfast.recall import RECALL_TOOL, answer_recall, call_arguments
from holdfast.sender import Packed, Provider, Sender
from holdfast.store import MemoryStore, SqliteStore, Store
from holdfast.tokenizers import counter_for_model
from holdfast.views import path
from holdfast.wire.content_blocks import WireDict, tool_definitions
from holdfast.wire.foreign_json import Losses
from holdfast.wire.message_lists import events_from_message


class Session:
    """One agent's conversation in one log; `to` is the format of its messages, in and out.

    `weights` rank lines in place of the profile's; a path names a file that `holdfast fit` wrote. `recall` is how
    the Recall tool is defined to the model. With `tools=None` the log keeps its tools. Use a session from one
    thread at a time; the store may be shared.
    """

    def __init__(
        self,
        *,
        budget: int | str | None = None,
        profile: str | Profile = "code",
        weights: Weights | Path | str | None = None,
        system: str = "",
        tools: Sequence[WireDict | ToolDefinition] | None = (),
        recall: ToolDefinition | None = None,
        model: str = "",
        to: Provider = "openai",
        store: Store | Path | str | None = None,
        log: str = "",
    ) -> None:
        self.profile = choose_profile(profile, budget)
        self._weights = choose_weights(weights)
        self.to = check_provider(to)
        own = tuple(tool for tool in tools or () if isinstance(tool, ToolDefinition))
        definitions = own or tool_definitions([*(tools or ())], Losses())
        check_tool_names(definitions)
        opened = SqliteStore(store) if isinstance(store, Path | str) else store
        self.store: Store = MemoryStore() if opened is None else opened
        redact = choose_redaction(self.profile)
        try:
            # Not `Log.open` at once: it takes the beginning of an id too, and here a new log may be meant.
            self.store.info(log)
        except NotFound:
            self.log = Log.create(self.store, id=log, redact=redact)
        else:
            self.log = Log.open(self.store, log, redact=redact)
        self._counter = counter_for_model(model)
        self._sender = Sender(to)
        self._names: dict[str, str] = {}
        self._entries = 0
        """How many entries of the log are known, whichever chain they are of."""
        self.window = self._read_log()
        if system and system != self.window.transcript.system:
            self.record(SystemSet(system))
        wanted = (*definitions, recall or RECALL_TOOL)
        if tools is not None and wanted != self.window.transcript.tools:
            self.record(ToolsSet(wanted))

    def append(self, *messages: WireDict) -> None:
        """Messages as the provider or the tools gave them: one dict each, in the session's format."""
        for message in messages:
            opening = not self.window.transcript.items
            events = events_from_message(message, self.to, names=self._names, opening=opening)
            for event in events:
                self.record(event)

    def record(self, *events: Event) -> list[Entry]:
        """Append events to the log, all or none; for what messages cannot say."""
        entries = self.log.append_all(events)
        self._entries += len(entries)
        for entry in entries:
            if entry.parent != (self.window.last_entry or None):
                # Another process wrote to this log: what it wrote belongs to the path too.
                self.window = self._read_log()
                break
            self.window.add(entry)
            self._note_calls(entry)
        if any(isinstance(event, Undone) for event in events):
            self.window = self._read_log()
        return entries

    def catch_up(self) -> None:
        """Take in what another process wrote to this log meanwhile."""
        if self.log.info.entries != self._entries:
            self.window = self._read_log()

    def pack(self) -> Packed:
        """What to send now, after a fold if one is due.

        Raises InputError where nothing was said yet, and ContextOverflow where nothing more can be left out.
        """
        self.make_room()
        return check_messages(self._sender.send(pack(self.window.view()), self.store, self.log.id))

    def make_room(self) -> Folded | None:
        """Fold, if a fold is due. Raises ContextOverflow where nothing more can be left out."""
        fold = plan_fold(self.window.view())
        if fold is not None:
            self.record(fold)
        return fold

    async def apack(self) -> Packed:
        """`pack`, off the event loop: a fold of a large log may take a while."""
        return await asyncio.to_thread(self.pack)

    def recall(self, arguments: WireDict | str) -> str:
        """What the Recall tool answers to the arguments of a call, as a dict or as JSON."""
        return answer_recall(self.store, call_arguments(arguments), log=self.log.id)[0]

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_log(self) -> Window:
        """The window of all that is in the log by now."""
        written = self.log.entries()
        self._entries = len(written)
        entries = path(written)
        for entry in entries:
            self._note_calls(entry)
        return Window(self.profile, self._counter, entries, self._weights)

    def _note_calls(self, entry: Entry) -> None:
        """Remember which tool a call was of: its result may not say it."""
        if isinstance(entry.event, AssistantReplied):
            self._names.update((p.id, p.name) for p in entry.event.parts if isinstance(p, ToolCall))


def choose_profile(profile: str | Profile, budget: int | str | None) -> Profile:
    """A profile by name or value, scaled to a budget such as 32000 or "32k"."""
    if isinstance(profile, str):
        if profile not in BUILT_IN:
            raise InputError(
                f"there is no profile `{profile}`", hint=f"built in: {', '.join(sorted(BUILT_IN))}"
            )
        profile = BUILT_IN[profile]
    return profile if budget is None else profile.scaled_to(parse_tokens(budget))


def choose_weights(weights: Weights | Path | str | None) -> Weights | None:
    """Weights as they are, or out of a file; None for those of the profile."""
    if weights is None or isinstance(weights, Weights):
        return weights
    file = Path(weights).expanduser()
    try:
        return read_weights(file.read_bytes(), str(file))
    except OSError as error:
        raise InputError(f"the weights {file} cannot be read: {error.strerror}", hint=HINT) from None


def check_provider(name: str) -> Provider:
    found: Provider | None = next((p for p in get_args(Provider) if p == name), None)
    if found is None:
        known = ", ".join(f"`{p}`" for p in get_args(Provider))
        raise InputError(f"messages cannot be written for `{name}`", hint=f"`to` is one of {known}")
    return found


def check_tool_names(tools: Sequence[ToolDefinition]) -> None:
    if any(tool.name == RECALL_TOOL.name for tool in tools):
        raise InputError(
            f"the tool name `{RECALL_TOOL.name}` is taken: every pack brings a tool of that name",
            hint="rename your tool; if it is the one that came with a pack, leave it out",
        )


def check_messages(packed: Packed) -> Packed:
    """The pack, if anything was said. Raises InputError where nothing was."""
    if not packed.messages:
        raise InputError(
            "there is nothing to pack: no message says anything",
            hint='start with a message such as {"role": "user", "content": "Fix the parser."}',
        )
    return packed


def choose_redaction(profile: Profile) -> Callable[[str], str] | None:
    """What a log uses on every string: None for the default rules, the identity where a profile wants none."""
    return None if profile.redact else str
