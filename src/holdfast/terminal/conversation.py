"""What a person says, and what is done about it: one thing at a time, the rest queued.

Rule: nothing that was said is lost. It goes to the agent at once where possible, and waits where not.
"""

import asyncio
import re
from collections.abc import Coroutine, Sequence
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import Ask, Stop
from holdfast.effort import Effort
from holdfast.errors import ConfigError, HoldfastError
from holdfast.terminal.first_frame import LOADING
from holdfast.terminal.interface import NotePiece, OpenSession, ScreenSession, SessionDisplay, Tone, UserPiece

_COMMAND = re.compile(r"/([a-z][\w.:-]*)(?:\s+(.*))?", re.DOTALL)
_TONES: dict[str, Tone] = {"interrupted": "quiet", "model": "error", "overflow": "error", "empty": "error"}

OWN = (
    ("/help", "keys and commands"),
    ("/clear", "start a new session; this one stays in its log"),
    ("/exit", "leave; `holdfast resume` resumes the session"),
)
PIPE = r"\|"
"""A pipe in a cell of a Markdown table."""
HELP = """\
**Keys**

| key | what it does |
|---|---|
| Enter | send; while the agent works, queue |
| Alt+Enter, Ctrl+J, `\\` at the end | a new line |
| Up, Down | earlier input; Up first takes back what is queued |
| Ctrl+R | search earlier input |
| Ctrl+G | write the prompt in `$EDITOR` |
| `!command` | run it yourself; the agent reads what it prints |
| Tab | complete a `/command` or an `@file` |
| Shift+Tab | next mode: plan, ask, edit, auto |
| Ctrl+T | how much the model thinks: the next level |
| Esc | interrupt; what is queued goes back into the prompt |
| Esc Esc, when nothing runs | go back to before something was said |
| Ctrl+O | open or close the newest card |
| Ctrl+Up, Ctrl+Down | move between cards; Enter opens one |
| PageUp, PageDown | scroll |
| Ctrl+C | interrupt; twice, or when idle, leave |
| Ctrl+D | leave |

**Commands**

| command | what it does |
|---|---|
"""


UNREAD = "what you said meanwhile is kept, and not read yet: send a message to continue"


class Conversation:
    def __init__(self, options: AgentOptions, open_: OpenSession, view: SessionDisplay) -> None:
        self._options = options
        self._open_session = open_
        self._view = view
        self.session: ScreenSession | None = None
        self.log = ""
        """The log of the newest session that was opened."""
        self.is_busy = True
        """Also before the first session is open: what is typed until then waits for it."""
        self._is_running = False
        """Whether the agent runs: then it takes messages, and can be interrupted."""
        self._waiting: list[UserPiece] = []
        """Messages that wait until a run can start."""
        self._queued: list[tuple[UserPiece, str]] = []
        """Messages given to the agent while it works, each with its text in the log."""
        self._later: list[tuple[str, NotePiece]] = []
        """Commands that wait for the end of the run, each with the note that says so."""
        self._is_stopping = False
        """Whether the run was interrupted: what is said now waits for the next one."""
        self._done = asyncio.Event()
        self._done.set()

    @property
    def is_loading(self) -> bool:
        """Whether the first session is being opened, and nothing was said yet."""
        return self.is_busy and not self.log and not self._waiting

    def begin(self, **changes: Any) -> None:
        """Open a session, with other options than the last one."""
        self._start(LOADING, self._open(replace(self._options, **changes)))

    def submit(self, text: str) -> None:
        """Take what a person sent: a command or a message."""
        if self._take_line(text.strip()):
            return
        piece = UserPiece(text, is_queued=self.is_busy)
        self._view.add(piece)
        if self._is_running and self.session and not self._is_stopping:
            self._queued.append((piece, self.session.add_message(text)))
            return
        self._waiting.append(piece)
        if not self.is_busy:
            self._next()

    def interrupt(self) -> bool:
        """End what runs as soon as the log is valid; whether anything was going on. What was not read yet goes back
        into the prompt: an interruption sends nothing."""
        if self.is_busy and self.session:
            self._is_stopping = True
            self.session.interrupt()
            if self._is_running:
                self._view.busy("stopping")
            taken: list[str] = []
            while text := self.take_back():
                taken.insert(0, text)
            self._view.put_back(taken)
        return self.is_busy

    def take_back(self) -> str:
        """The newest message or own command that waits, which is not sent or run then; empty if there is none."""
        if self._waiting and self._waiting[-1].is_queued:
            piece = self._waiting.pop()
            self._view.drop(piece)
            return piece.text
        while self._queued and self.session:
            piece, logged = self._queued.pop()
            if self.session.take_back(logged):
                self._view.drop(piece)
                return piece.text
            self._unqueue(piece)
        # What changes the session, such as `/model`, still waits.
        for at in reversed(range(len(self._later))):
            line, note = self._later[at]
            if line.startswith("!"):
                del self._later[at]
                self._view.drop(note)
                return line
        return ""

    def stepped(self) -> None:
        """A request was sent; messages that the agent has read are no longer queued."""
        if not self.session or not self._queued:
            return
        heard = self.session.has_read([logged for _, logged in self._queued])
        for (piece, _), is_heard in zip(self._queued, heard, strict=True):
            if is_heard:
                self._unqueue(piece)
        self._queued = [one for one in self._queued if one[0].is_queued]

    async def close(self) -> None:
        """End the run and close the session; all of it is in the log then."""
        self._later.clear()
        if self.session:
            self.session.interrupt()
        await self._done.wait()
        if self.session:
            session, self.session = self.session, None
            for piece in self._waiting:
                session.add_message(piece.text)
            self._waiting.clear()
            await session.aclose()

    def listed(self) -> list[tuple[str, str]]:
        """All commands that can be typed now."""
        others = self.session.commands() if self.session else [("/model provider/name", "choose a model")]
        own = [one for one in OWN if one[0] not in {usage.split()[0] for usage, _ in others}]
        return sorted([*own, *others])

    def _take_line(self, line: str) -> bool:
        """Do what a line begins, if it is a command of either kind; whether it is."""
        if found := _COMMAND.fullmatch(line):
            self._take_command(found[1], found[2] or "", line)
            return True
        command = line.removeprefix("!").strip()
        if line == command or not command:
            return False
        if self._can_begin(line):
            assert self.session, "asked before"
            self._start(line, self.session.run_own_command(command))
        return True

    def _take_command(self, name: str, argument: str, line: str) -> None:
        if name in ("exit", "quit"):
            self._view.action_leave()
        elif name == "help" and not argument:
            rows = "\n".join(
                f"| `{usage.replace('|', PIPE)}` | {about.replace('|', PIPE)} |"
                for usage, about in self.listed()
            )
            self._view.add(NotePiece(f"{HELP}{rows}\n", "plain", is_markdown=True))
        elif self._is_running and self.session and not self.session.waits(name):
            self._view.work(self._run_meanwhile(line))
        elif name == "clear" and not self.is_busy:
            self.begin(log="", resumes_newest=False)
        elif self.session is None and name == "model" and argument and not self.is_busy:
            self.begin(model=argument)
        elif self._can_begin(line):
            self._start(line, self._command(line))

    def _can_begin(self, line: str) -> bool:
        """Whether a line that needs a session can be done now; else it waits, or the person is told why not."""
        if self.is_busy:
            note = NotePiece(f"{line} waits until this is done")
            self._later.append((line, note))
            self._view.add(note)
        elif self.session is None:
            self._view.add(NotePiece(f"{line} needs a model; `/model provider/name` chooses one", "warning"))
        return not self.is_busy and self.session is not None

    def _start(self, what: str, work: Coroutine[None, None, None]) -> None:
        self.is_busy = True
        self._done.clear()
        self._view.busy(what)
        self._view.work(self._run_work(work))

    async def _run_work(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except HoldfastError as error:
            if not self.log:
                self._view.fail(error)
            self._view.add(NotePiece("\n".join(filter(None, (error.message, error.hint))), "error"))
        finally:
            self.is_busy = self._is_running = self._is_stopping = False
            self._view.idle()
            for piece, _ in self._queued:
                self._unqueue(piece)
            self._queued = []
            self._done.set()
        self._next()

    def _next(self) -> None:
        """Do what has waited longest, messages before commands."""
        if self.session and self._waiting:
            said, self._waiting = self._waiting, []
            self._start("working", self._run(said))
        elif self._later:
            line, note = self._later.pop(0)
            self._view.drop(note)
            self._take_line(line)
        elif self._waiting:
            self._view.add(NotePiece("this waits until a model is chosen", "warning"))

    async def _open(self, options: AgentOptions) -> None:
        if self.session:
            session, self.session = self.session, None
            await session.aclose()
        self._options = options
        try:
            self.session = await self._open_session(self._view, options)
        except ConfigError as error:
            # Imported only where it is needed: most people have a model.
            from holdfast.terminal.screen_session import welcome_text  # noqa: PLC0415

            self._view.add(NotePiece(welcome_text(error), "plain", is_markdown=True))
            return
        self.log = self.session.log
        self._options = replace(options, log=self.log, resumes_newest=False)
        self._view.opened(self.session)
        self._show(self.session)
        for note in self.session.notes:
            self._view.add(NotePiece(note, "warning"))

    def _show(self, session: ScreenSession) -> None:
        """Show the session as its log has it, and the messages that wait."""
        self._view.load([*session.earlier(), *self._waiting])
        self._view.refresh_figures()

    async def _run(self, said: Sequence[UserPiece]) -> None:
        assert self.session, "only an open session runs"
        for piece in said:
            self._unqueue(piece)
        for piece in said[:-1]:
            self.session.add_message(piece.text)
        self._is_running = True
        end = await self.session.say(said[-1].text)
        match end:
            case Ask(question=question):
                self._view.add(NotePiece(question, "warning"))
            case Stop(reason=reason, sentence=sentence, hint=hint):
                if self._queued:
                    hint = "\n".join(filter(None, (hint, UNREAD)))
                tone = _TONES.get(reason, "warning")
                self._view.add(NotePiece("; ".join(filter(None, (sentence, hint))), tone))

    async def _command(self, line: str, *, picks: bool = False) -> None:
        """Run a command. One without an argument, or one that was picked, may let the person choose further."""
        assert self.session, "a command needs a session"
        shown = await self.session.command(line)
        if shown.menu and (picks or " " not in line):
            if chosen := await self._view.pick(shown.menu):
                await self._command(chosen, picks=True)
            return
        self._keep_effort(shown.effort)
        if shown.open_log or shown.model:
            log, model = shown.open_log or self.session.log, shown.model or self._options.model
            await self._open(replace(self._options, log=log, model=model))
        elif shown.is_reread:
            self._show(self.session)
        if shown.text:
            self._view.add(NotePiece(shown.text, "plain", is_markdown=True))
        if shown.draft:
            self._view.draft(shown.draft)
        if shown.say:
            self._waiting.append(UserPiece(shown.say))
            self._view.add(self._waiting[-1])
        self._view.refresh_figures()

    async def _run_meanwhile(self, line: str) -> None:
        """Run a command while the agent works."""
        assert self.session, "only an open session runs"
        try:
            shown = await self.session.command(line)
        except HoldfastError as error:
            self._view.add(NotePiece("\n".join(filter(None, (error.message, error.hint))), "error"))
        else:
            self._view.add(NotePiece(shown.text, "plain", is_markdown=True))
        self._view.refresh_figures()

    def next_effort(self) -> None:
        """Let the model think more, or as little as it can after the most."""
        if self.session:
            self._keep_effort(self.session.next_effort())
            self._view.refresh_figures()

    def _keep_effort(self, effort: Effort | None) -> None:
        """For the sessions that are opened from here on."""
        if effort:
            self._options = replace(self._options, effort=effort)

    def _unqueue(self, piece: UserPiece) -> None:
        if piece.is_queued:
            piece.is_queued = False
            self._view.change(piece)


async def open_session(display: SessionDisplay, options: AgentOptions) -> ScreenSession:
    """Open a session. The agent is imported with the first one, in a thread: the screen keeps painting."""
    loaded = await asyncio.to_thread(import_module, "holdfast.terminal.screen_session")
    session: ScreenSession = await loaded.open_screen_session(display, options)
    return session
