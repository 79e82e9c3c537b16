"""What a person says and what is done about it: one thing at a time, the rest queued.

Rule: nothing said is lost. It is handed to the agent at once where that can be, and waits its turn where not.
"""

import asyncio
import re
from collections.abc import Coroutine, Sequence
from typing import Protocol

from holdfast.errors import ConfigError, HoldfastError
from holdfast.terminal.first_frame import LOADING
from holdfast.terminal.interface import (
    NotePiece,
    OpenSession,
    Piece,
    RunEnding,
    ScreenSession,
    SessionDisplay,
    SessionTarget,
    UserPiece,
)

_COMMAND = re.compile(r"/([a-z][\w-]*)(?:\s+(.*))?", re.DOTALL)

OWN = (
    ("/help", "keys and commands"),
    ("/clear", "begin a new talk; this one stays in its log"),
    ("/exit", "leave; `holdfast resume` comes back"),
)
KEYS = """\
**Keys**

| key | what it does |
|---|---|
| Enter | send; while the agent works, queue |
| Alt+Enter, Ctrl+J, `\\` at the end | a new line |
| Up, Down | what was typed before |
| Tab | complete a `/command` or an `@file` |
| Shift+Tab | next mode: plan, ask, edit, auto |
| Esc | interrupt; what is queued is sent at once |
| Ctrl+O | open or close the newest card |
| Ctrl+Up, Ctrl+Down | go from card to card, Enter opens |
| PageUp, PageDown | scroll |
| Ctrl+C | interrupt; twice, or when idle, leave |
| Ctrl+D | leave |
"""


class ConversationDisplay(SessionDisplay, Protocol):
    """What a conversation needs of the screen besides what a talk needs."""

    def load(self, pieces: Sequence[Piece]) -> None: ...

    def opened(self, talk: ScreenSession) -> None: ...

    def busy(self, what: str) -> None: ...

    def draft(self, text: str) -> None:
        """Text to be changed and sent again, without losing what stands in the prompt."""
        ...

    def idle(self) -> None: ...

    def work(self, doing: Coroutine[None, None, None]) -> None: ...

    def welcome(self, trouble: ConfigError) -> None:
        """No agent can be opened as things are; say what can be done."""
        ...

    def fail(self, error: HoldfastError) -> None:
        """There is no talk, and there will be none."""
        ...

    def leave(self) -> None: ...


class Conversation:
    def __init__(self, open_: OpenSession, view: ConversationDisplay) -> None:
        self._open_talk = open_
        self._view = view
        self.talk: ScreenSession | None = None
        self.log = ""
        """Of the newest talk that was opened."""
        self.is_busy = True
        """Also before the first talk is opened: what is typed by then waits for it."""
        self._is_running = False
        """Whether the agent runs, so that it can hear and be interrupted."""
        self._unsaid: list[UserPiece] = []
        """What waits until something can be said at all."""
        self._queued: list[tuple[UserPiece, str]] = []
        """What the agent was given while it works, and how the log will have it."""
        self._later: list[str] = []
        """Commands that wait for the end of the run."""
        self._goes_on = False
        self._target = SessionTarget()
        self._done = asyncio.Event()
        self._done.set()

    def begin(self, target: SessionTarget) -> None:
        self._do(LOADING, self._open(target))

    def take(self, text: str) -> None:
        """What a person sent: a command or a message."""
        if found := _COMMAND.fullmatch(text.strip()):
            self._take_command(found[1], found[2] or "", text.strip())
            return
        piece = UserPiece(text, is_queued=self.is_busy)
        self._view.add(piece)
        if self._is_running and self.talk:
            self._queued.append((piece, self.talk.hear(text)))
            return
        self._unsaid.append(piece)
        if not self.is_busy:
            self._next()

    def interrupt(self, *, goes_on: bool) -> bool:
        """End what runs, as soon as the log is valid. Whether anything runs."""
        if self._is_running and self.talk:
            self._goes_on = goes_on and bool(self._queued)
            self.talk.interrupt()
            self._view.busy("stopping")
        return self.is_busy

    def stepped(self) -> None:
        """A request goes out; what the agent has taken in is queued no more."""
        if not self.talk or not self._queued:
            return
        heard = self.talk.has_heard([logged for _, logged in self._queued])
        for (piece, _), is_heard in zip(self._queued, heard, strict=True):
            if is_heard:
                self._unqueue(piece)
        self._queued = [one for one in self._queued if one[0].is_queued]

    async def close(self) -> None:
        """End what runs and let go of the talk; all of it is in the log then."""
        self._later.clear()
        self.interrupt(goes_on=False)
        await self._done.wait()
        if self.talk:
            talk, self.talk = self.talk, None
            for piece in self._unsaid:
                talk.hear(piece.text)
            self._unsaid.clear()
            await talk.aclose()

    def listed(self) -> list[tuple[str, str]]:
        """All commands that can be typed now."""
        others = list(self.talk.commands()) if self.talk else [("/model provider/name", "choose a model")]
        own = [one for one in OWN if one[0] not in {usage.split()[0] for usage, _ in others}]
        return sorted([*own, *others])

    def _take_command(self, name: str, argument: str, line: str) -> None:
        if name in ("exit", "quit"):
            self._view.leave()
        elif name == "help" and not argument:
            self._view.add(NotePiece(self._help(), "plain", is_markdown=True))
        elif self.is_busy:
            self._later.append(line)
            self._view.add(NotePiece(f"{line} waits until this is done"))
        elif name == "clear":
            self.begin(SessionTarget(model=self._target.model))
        elif self.talk is None and name == "model" and argument:
            self.begin(SessionTarget(self._target.log, argument))
        elif self.talk is None:
            self._view.add(NotePiece(f"{line} needs a model; `/model provider/name` chooses one", "warning"))
        else:
            self._do(line, self._command(line))

    def _do(self, what: str, work: Coroutine[None, None, None]) -> None:
        self.is_busy = True
        self._done.clear()
        self._view.busy(what)
        self._view.work(self._doing(work))

    async def _doing(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except HoldfastError as error:
            if not self.log:
                self._view.fail(error)
            self._view.add(NotePiece("\n".join(filter(None, (error.message, error.hint))), "error"))
        finally:
            self.is_busy = self._is_running = False
            self._view.idle()
            for piece, _ in self._queued:
                self._unqueue(piece)
            self._queued = []
            self._done.set()
        self._next()

    def _next(self) -> None:
        """What waited the longest, messages before commands."""
        if self.talk and self._unsaid:
            said, self._unsaid = self._unsaid, []
            self._do("working", self._run(said))
        elif self._later:
            line = self._later.pop(0)
            name, _, argument = line[1:].partition(" ")
            self._take_command(name, argument, line)
        elif self._unsaid:
            self._view.add(NotePiece("no model is there to read this yet; it waits", "warning"))

    async def _open(self, target: SessionTarget) -> None:
        if self.talk:
            talk, self.talk = self.talk, None
            await talk.aclose()
        self._target = target
        try:
            self.talk = await self._open_talk(self._view, target)
        except ConfigError as error:
            self._view.welcome(error)
            return
        self.log = self.talk.log
        self._target = SessionTarget(self.log, target.model)
        self._view.opened(self.talk)
        self._show(self.talk)
        for note in self.talk.notes:
            self._view.add(NotePiece(note, "warning"))

    def _show(self, talk: ScreenSession) -> None:
        """The talk as its log has it, with what waits to be said."""
        self._view.load([*talk.earlier(), *self._unsaid])
        self._view.refigure()

    async def _run(self, said: Sequence[UserPiece]) -> None:
        assert self.talk, "only an opened talk is run"
        for piece in said:
            self._unqueue(piece)
        for piece in said[:-1]:
            self.talk.hear(piece.text)
        self._is_running = True
        ending = await self.talk.say(said[-1].text)
        while ending.is_interrupted and self._goes_on:
            # What was said meanwhile is in the log by now: the interruption was to have it read.
            self._goes_on = False
            self.stepped()
            ending = await self.talk.go_on()
        self._tell(ending)

    async def _command(self, line: str) -> None:
        assert self.talk, "a command has a talk"
        shown = await self.talk.command(line)
        if shown.open_log or shown.model:
            await self._open(
                SessionTarget(shown.open_log or self.talk.log, shown.model or self._target.model)
            )
        elif shown.is_reread:
            self._show(self.talk)
        if shown.text:
            self._view.add(NotePiece(shown.text, "plain", is_markdown=True))
        if shown.draft:
            self._view.draft(shown.draft)
        if shown.say:
            self._unsaid.append(UserPiece(shown.say))
            self._view.add(self._unsaid[-1])
        self._view.refigure()

    def _tell(self, ending: RunEnding) -> None:
        if ending.sentence:
            self._view.add(NotePiece("; ".join(filter(None, (ending.sentence, ending.hint))), ending.tone))

    def _unqueue(self, piece: UserPiece) -> None:
        if piece.is_queued:
            piece.is_queued = False
            self._view.change(piece)

    def _help(self) -> str:
        rows = "\n".join(f"| `{usage}` | {about} |" for usage, about in self.listed())
        return f"{KEYS}\n**Commands**\n\n| command | what it does |\n|---|---|\n{rows}\n"
