"""A session: append what happens, pack what to send, answer Recall. For agents with a loop of their own.

Rule: it owns no state that the log does not hold; closing it and opening the same log gives the same packs.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from msgspec.structs import replace

from holdfast.errors import InputError, NotFound
from holdfast.events import (
    UNREAD,
    AssistantReplied,
    Entry,
    Event,
    Folded,
    Noted,
    OverflowReported,
    Rewound,
    SystemSet,
    ToolReturned,
    ToolsSet,
    Undone,
    UsageReported,
)
from holdfast.log import Log
from holdfast.messages import Json, Text, ToolDefinition
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.lines.weights import Weights
from holdfast.packing.pack import pack
from holdfast.packing.profile import Profile
from holdfast.packing.window import Window
from holdfast.recall import RECALL_TOOL, answer_recall, call_arguments
from holdfast.sender import Packed, Provider, Sender
from holdfast.session_settings import (
    SESSION,
    SessionSettings,
    check_messages,
    check_provider,
    check_texts,
    choose_profile,
    choose_redaction,
    choose_weights,
    chosen_store,
    kept_settings,
    known_format,
    newest_log,
    read_tools,
    session_settings,
)
from holdfast.store import Store
from holdfast.store_places import may_exist, parse_place
from holdfast.tokenizers import counter_for_model
from holdfast.views import path
from holdfast.wire.content_blocks import CallNames, WireDict
from holdfast.wire.formats import FORMATS
from holdfast.wire.message_groups import check_call, check_waiting, joined_prompts, message_groups
from holdfast.wire.message_lists import distinct_format, events_from_messages, tool_format
from holdfast.wire.sdk_objects import (
    ProviderResponse,
    plain_message,
    plain_tools,
    read_call,
    read_response,
)

FORMAT_SEEN = "format"
"""The kind of the remark that says in which format messages came in, where nobody had said it."""
WINDOW_EXCEEDED = "model_context_window_exceeded"
"""Anthropic's reason to stop where a reply did not fit the window any more."""


UsageState = Literal["unknown", "missing", "known"]
"""Of the newest reply; unknown where none was appended since the last pack."""


class Session:
    """One agent's conversation in one log.

    Messages may come in any provider's format, as dicts or as objects of its SDK. `to` is the format of what `pack`
    gives; without it that is the format in which tools and messages came in. A new session begins a new log, also
    in a store that has some: `Session.resume` continues one. `weights` rank lines in place of the profile's; a path
    names a file that `holdfast fit` wrote. `recall` is how the Recall tool is defined to the model. With
    `tools=None` the log keeps its tools. Use a session from one thread at a time; the store may be shared.
    """

    def __init__(
        self,
        *,
        budget: int | str | None = None,
        profile: str | Profile = "code",
        weights: Weights | Path | str | None = None,
        system: str = "",
        tools: Sequence[object] | None = (),
        recall: ToolDefinition | None = None,
        model: str = "",
        to: Provider | None = None,
        store: Store | Path | str | None = None,
        log: str = "",
    ) -> None:
        check_texts(system=system, model=model, log=log)
        self.profile = choose_profile(profile, budget)
        self._weights = choose_weights(weights)
        self._to = check_provider(to) if to is not None else None
        offered = plain_tools(tools)
        definitions = read_tools(offered)
        self._detected = tool_format(offered)
        self.store = chosen_store(store)
        redact = choose_redaction(self.profile)
        try:
            # Not `Log.open` at once: it takes the beginning of an id too, and here a new log may be meant.
            self.store.info(log)
        except NotFound:
            settings = SessionSettings(self.profile, model, self._to or self._detected)
            self.log = Log.create(self.store, id=log, redact=redact, meta={SESSION: kept_settings(settings)})
        else:
            self.log = Log.open(self.store, log, redact=redact)
        self._counter = counter_for_model(model)
        self._sender: Sender | None = None
        self._names = CallNames()
        self._usage: UsageState = "unknown"
        self._reported: ProviderResponse | None = None
        """A response that was reported before its reply was appended."""
        self._unread: list[str] = []
        """What of the messages could not be read."""
        self._entries = 0
        """How many entries of the log are known, whichever chain they are of."""
        self.window = self._read_log()
        if system and system != self.window.transcript.system:
            self.record(SystemSet(system))
        self._recall = (recall or RECALL_TOOL).name
        wanted = (*definitions, recall or RECALL_TOOL)
        if tools is not None and wanted != self.window.transcript.tools:
            self.record(ToolsSet(wanted))

    @classmethod
    def resume(
        cls,
        store: Store | Path | str,
        log: str = "newest",
        *,
        budget: int | str | None = None,
        profile: str | Profile | None = None,
        weights: Weights | Path | str | None = None,
        model: str | None = None,
        to: Provider | None = None,
    ) -> Self:
        """The session of a log that the store has: the newest, or by its id or the beginning of that.

        It continues as it was: the next pack is the one that the first session would have made. Settings given here
        take the place of those it had; weights of your own must be given again.
        """
        if isinstance(store, Path | str) and not may_exist(parse_place(store)):
            raise NotFound(
                f"there is no store `{store}` to resume from", hint="begin one with `Session(store=…)`"
            )
        check_texts(log=log)
        opened = chosen_store(store)
        try:
            found = newest_log(opened) if log == "newest" else Log.open(opened, log).id
            kept = session_settings(opened, found)
            return cls(
                budget=budget,
                profile=kept.profile if profile is None else profile,
                weights=weights,
                tools=None,
                model=kept.model if model is None else model,
                to=to or kept.to,
                store=opened,
                log=found,
            )
        except BaseException:
            if opened is not store:
                opened.close()
            raise

    @property
    def to(self) -> Provider:
        """The format of what `pack` gives."""
        return self._to or self._detected or "openai"

    @property
    def known_calls(self) -> CallNames:
        """The calls of this session by id, with the names of their tools."""
        return self._names

    @property
    def tools(self) -> list[Any]:
        """The tools that a request carries, Recall among them, in the session's format."""
        return FORMATS[self.to].write_tools(self.window.transcript.tools)

    def append(self, *messages: object) -> None:
        """Messages as the provider or the tools gave them: dicts or objects of an SDK, in any format; all or none.

        A whole response may be given too: its reply is appended, with its usage. Items of the Responses API that
        belong to one reply are given together.
        """
        plain = [plain_message(message, f"message {at}") for at, message in enumerate(messages)]
        draft = _AppendDraft(self._names.copy(), self._detected, self._usage, self._reported)
        opening = not self.window.transcript.items
        for at, group, response in message_groups(plain):
            found = self._events(group, response, draft, at, opening=opening)
            for event in found:
                if isinstance(event, ToolReturned):
                    check_call(event, draft.names, at)
                draft.names.note(event)
                opening = opening and isinstance(event, SystemSet | Noted)
            draft.add(found, response)
        # Nothing of the session changes before everything that was given can be recorded.
        self.record(*joined_prompts(self.window.transcript.system, draft.events))
        self._detected, self._usage, self._reported = draft.detected, draft.usage, draft.reported

    def _events(
        self,
        group: list[Json],
        response: ProviderResponse | None,
        draft: "_AppendDraft",
        start: int,
        *,
        opening: bool,
    ) -> list[Event]:
        distinct = response.format if response else distinct_format(group)
        to = self._to or draft.detected or "openai"
        # What is plain text has `content`, which Gemini's own messages never have.
        format_ = distinct or ("openai" if to == "gemini" else to)
        names = draft.names.copy()
        events = events_from_messages(group, format_, names=names, opening=opening, start=start)
        if distinct and draft.detected is None:
            draft.detected = distinct
            if self._to is None:
                events.append(Noted(kind=FORMAT_SEEN, text=distinct))
        return events

    def report(self, response: object) -> bool:
        """Say what a provider answered: a response, for its usage and why it stopped, or an exception instead.

        True where the request was too long: the next pack is smaller, and may be sent in place of this one.
        """
        if isinstance(response, BaseException):
            # Loaded late: few sessions see an error.
            from holdfast.models.errors import overflow_of  # noqa: PLC0415

            overflow = overflow_of(response)
            if overflow is not None:
                self.record(OverflowReported(limit=overflow.limit, message=overflow.message))
            return overflow is not None
        said = read_response(plain_message(response, "the response"))
        if said is None:
            raise InputError(
                f"a `{type(response).__name__}` is no response of a provider",
                hint="report the response itself, such as a ChatCompletion, or the exception that came instead",
            )
        if self._usage == "unknown":
            self._reported = said
        elif self._usage == "missing":
            self.record(*([UsageReported(said.usage, said.model)] if said.usage else []), *_overflow(said))
            self._usage = "known"
        return said.stop == WINDOW_EXCEEDED

    def answer(self, call: object) -> bool:
        """Answer a call of Recall: its result is appended. False, and nothing happens, for a call of another tool.

        The call is a dict or an object of an SDK, as it was in the reply.
        """
        asked = read_call(plain_message(call, "the call"))
        if asked is None:
            raise InputError(
                f"a `{type(call).__name__}` is no call of a tool",
                hint="pass one call of a reply, such as one of OpenAI's `tool_calls`",
            )
        if asked.name != self._recall:
            return False
        call_id = asked.id or next(iter(self._names.waiting(asked.name)), "")
        check_waiting(call_id, self._names)
        text, is_error = (
            ("the arguments of Recall are not a JSON object", True)
            if asked.raw
            else answer_recall(self.store, asked.arguments, log=self.log.id)
        )
        self.record(ToolReturned(call_id, asked.name, (Text(text),), error=is_error))
        return True

    def record(self, *events: Event, chain: str = "") -> list[Entry]:
        """Append events to the log, all or none; for what messages cannot say. Those of another chain are kept
        beside the conversation, and no pack holds them."""
        entries = self.log.append_all(events, chain=chain)
        self._entries += len(entries)
        if chain:
            return entries
        for entry in entries:
            if entry.parent != (self.window.last_entry or None):
                # Another process wrote to this log: what it wrote belongs to the path too.
                self.window = self._read_log()
                break
            self.window.add(entry)
            self._note_entry(entry)
        if any(isinstance(event, Undone) for event in events):
            self.window = self._read_log()
        return entries

    def rewind(self, before: str, *, reason: str = "") -> None:
        """Continue from before this entry; it stays in the log with what came after it, off the path."""
        parent = next((entry.parent for entry in self.log.entries() if entry.id == before), None)
        if parent is None:
            raise NotFound(f"log `{self.log.id}` has no entry `{before}` to continue from before")
        self.log.append(Rewound(reason), parent=parent)
        self.window = self._read_log()

    def catch_up(self) -> None:
        """Take in what another process wrote to this log meanwhile."""
        if self.log.info.entries != self._entries:
            self.window = self._read_log()

    def pack(self) -> Packed:
        """What to send now, after a fold if one is due.

        Raises InputError where nothing was said yet, and ContextOverflow where nothing more can be left out.
        """
        self.make_room()
        if self._sender is None or self._sender.provider != self.to:
            self._sender = Sender(self.to, self.profile.cache_marks)
        self._usage, self._reported = "unknown", None
        packed = pack(self.window.view())
        return check_messages(self._sender.send(packed, self.store, self.log.id, self._unread))

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
        self._entries, self._unread = len(written), []
        entries = path(written)
        for entry in entries:
            self._note_entry(entry)
            if isinstance(entry.event, Noted) and entry.event.kind == FORMAT_SEEN:
                self._detected = self._detected or known_format(entry.event.text)
        return Window(self.profile, self._counter, entries, self._weights)

    def _note_entry(self, entry: Entry) -> None:
        """Remember which tool a call was of, since its result may not say it, and what could not be read."""
        self._names.note(entry.event)
        if isinstance(entry.event, Noted) and entry.event.kind == UNREAD:
            self._unread.append(entry.event.text)


class _AppendDraft:
    """What an append would record, and what the session would know then."""

    def __init__(
        self,
        names: CallNames,
        detected: Provider | None,
        usage: UsageState,
        reported: ProviderResponse | None,
    ) -> None:
        self.names = names
        self.detected = detected
        self.usage = usage
        self.reported = reported
        self.events: list[Event] = []

    def add(self, events: list[Event], response: ProviderResponse | None) -> None:
        """Events of a message; a reply is told what its response said of it."""
        for event in events:
            said = response or self.reported
            if not isinstance(event, AssistantReplied):
                self.events.append(event)
                continue
            if said and event.usage is None:
                model, stop = event.model or said.model, event.stop or said.stop
                event = replace(event, usage=said.usage, model=model, stop=stop)  # noqa: PLW2901
            self.events += [event, *(_overflow(said) if said else [])]
            self.reported = None
            self.usage = "known" if event.usage else "missing"


def _overflow(response: ProviderResponse) -> list[Event]:
    """A reply that the window had no room for any more: the next request must be smaller."""
    if response.stop != WINDOW_EXCEEDED:
        return []
    return [OverflowReported(message="the reply did not fit the window")]
