"""The coding agent on a full screen.

Rule: the screen comes first and the agent is loaded behind it. Everything can be done with keys alone, and every
key that decides something is shown where it is needed.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import ClassVar

from textual import events, on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.widgets import Static, TextArea

from holdfast.agents.options import MODES, AgentOptions
from holdfast.agents.outcomes import Menu, MenuItem
from holdfast.errors import ConfigError, HoldfastError
from holdfast.terminal.approval_panel import StrayKey
from holdfast.terminal.candidates import (
    Candidate,
    CompletionQuery,
    RepositoryFiles,
    match_commands,
    match_files,
)
from holdfast.terminal.colours import theme_of
from holdfast.terminal.conversation import Conversation, open_session
from holdfast.terminal.first_frame import ENTER, LOADING, PaintedFrame
from holdfast.terminal.interface import (
    ApprovalDecision,
    ApprovalRequest,
    ChoiceAnswer,
    ChoiceQuestion,
    NotePiece,
    OpenSession,
    Piece,
    ScreenSession,
    StatusFigures,
)
from holdfast.terminal.notification import notification
from holdfast.terminal.panels import GRACE, PanelArea
from holdfast.terminal.picker import Picker
from holdfast.terminal.piece_widgets import PieceWidget
from holdfast.terminal.prompt import Prompt, PromptHistory, register_alt_enter
from holdfast.terminal.transcript_view import TranscriptView
from holdfast.terminal.widgets import SHORT, ActivityLine, StatusBar, SuggestionList, TodoPanel

DOUBLE_PRESS_SECONDS = 2.0
"""Seconds within which a second Ctrl+C leaves, and a second Esc goes back."""
CLOSE_SECONDS = 15.0
"""Seconds that leaving waits for a run to end."""
GONE_SECONDS = 5.0
"""Seconds that leaving may take when the terminal is gone."""


def driver_for(painted: PaintedFrame) -> type[Driver]:
    """Textual's driver for a terminal that already shows the first frame.

    The alternate screen is not entered a second time, because some terminals clear it then. At the end the terminal
    gets back the attributes that it had before the first frame.
    """

    class InheritedScreenDriver(LinuxDriver):
        def start_application_mode(self) -> None:
            super().start_application_mode()  # type: ignore[no-untyped-call]
            self.attrs_before = painted.before

        def write(self, data: str) -> None:
            if data == ENTER and not painted.is_taken_over:
                painted.is_taken_over = True
                return
            super().write(data)

    return InheritedScreenDriver


class AgentApp(App[int]):
    CSS_PATH = "style.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "#prompt"
    TITLE = "holdfast"
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (SHORT, "-short"), (34, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "stop", show=False, priority=True),
        Binding("ctrl+d", "end_of_input", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("escape", "interrupt", show=False),
        Binding("shift+tab", "next_mode", show=False, priority=True),
        Binding("ctrl+t", "next_effort", show=False, priority=True),
        Binding("ctrl+o", "toggle_card", show=False, priority=True),
        Binding("ctrl+r", "search_history", show=False),
        Binding("ctrl+g", "edit_prompt", show=False),
        Binding("ctrl+l", "repaint", show=False),
    ]

    def __init__(
        self,
        options: AgentOptions,
        open_: OpenSession = open_session,
        *,
        grace: float = GRACE,
        banner: str = "",
        figures: StatusFigures | None = None,
        painted: PaintedFrame | None = None,
    ) -> None:
        """`figures` are shown until a session is open; `painted` is the first frame, if there is one."""
        # The terminal's own colours are readable on its background. Set here too, because whether there are
        # colours at all is decided before a theme can be chosen.
        super().__init__(driver_for(painted) if painted else None, ansi_color=True)
        self.theme = theme_of(os.environ)
        register_alt_enter()
        self.conversation = Conversation(options, open_, self)
        self._banner = [NotePiece(banner)] if banner else []
        self._figures = figures or StatusFigures()
        self._files = RepositoryFiles(options.root)
        self.transcript = TranscriptView()
        self.status = StatusBar(self._figures)
        self.todos = TodoPanel()
        self.activity = ActivityLine(self.transcript.tick)
        self._suggestions = SuggestionList()
        self.prompt = Prompt(PromptHistory(), self._suggestions, self._offer, self.conversation.take_back)
        self.panels = PanelArea(self._focus_prompt, grace)
        self.failure: HoldfastError | None = None
        self._stopped = 0.0
        self._escaped = 0.0
        """When Esc was pressed last while nothing ran."""
        self._is_leaving = False

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield self.todos
        yield self.panels
        yield self.activity
        yield self._suggestions
        with Horizontal(id="box"):
            yield Static("› ", id="sign", markup=False)
            yield self.prompt
        yield self.status

    def on_mount(self) -> None:
        if not self.is_headless:
            # Nothing is lost when the terminal is closed or the process is ended.
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, self.action_stop)
            for ending in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(ending, self._end, ending)
        self.load(())
        self.busy(LOADING)
        self.call_after_refresh(self.conversation.begin)

    # What the conversation and the session ask of the screen.

    def add(self, piece: Piece) -> None:
        self.transcript.add(piece)

    def change(self, piece: Piece) -> None:
        self.transcript.change(piece)

    def drop(self, piece: Piece) -> None:
        self.transcript.drop(piece)

    def load(self, pieces: Sequence[Piece]) -> None:
        self.transcript.load([*self._banner, *pieces])

    def opened(self, session: ScreenSession) -> None:
        if session.history:
            self.prompt.lines_kept.keep_in(session.history)

    def stepped(self, number: int) -> None:
        self.busy(f"step {number}")
        self.conversation.stepped()
        self.refresh_figures()

    def refresh_figures(self) -> None:
        session = self.conversation.session
        self.status.show(session.figures() if session else self._figures)
        self.todos.show(session.todos() if session else ())

    def busy(self, what: str) -> None:
        # Loading cannot be interrupted, only left.
        self.activity.begin(what, "" if what == LOADING else "Esc interrupts")

    def draft(self, text: str) -> None:
        self.prompt.keep_draft()
        self.prompt.put(text)

    def put_back(self, texts: Sequence[str]) -> None:
        # Words before commands: after a `!` they would be run.
        found = filter(None, (*texts, self.prompt.whole))
        first, *others = sorted(found, key=lambda text: text.startswith("!")) or [""]
        if first.startswith("!"):
            # Several commands are one of several lines.
            others = [text.removeprefix("!") for text in others]
        if texts:
            self.prompt.put("\n".join((first, *others)))

    def idle(self) -> None:
        try:
            told = notification(os.environ, self.activity.end())
        except ConfigError as error:
            told = ""
            self.add(NotePiece(f"{error.message}; {error.hint}", "warning"))
        if told and self._driver:
            self._driver.write(told)
        self.refresh_figures()

    def work(self, doing: Coroutine[None, None, None]) -> None:
        self.run_worker(doing)

    def fail(self, error: HoldfastError) -> None:
        self.failure = error
        self.exit(error.exit_code)

    async def approve(self, asked: ApprovalRequest) -> ApprovalDecision:
        self._leave_picker()
        return await self.panels.approve(asked)

    async def choose(self, choices: Sequence[ChoiceQuestion]) -> Sequence[ChoiceAnswer]:
        self._leave_picker()
        return await self.panels.choose(choices)

    def _leave_picker(self) -> bool:
        """Close the picker as Esc does; whether there was one. A panel that asks needs its room, and every key."""
        for picker in (pickers := list(self.query(Picker))):
            picker.action_give("")
        return bool(pickers)

    async def pick(self, menu: Menu) -> str:
        self.activity.end()
        return await self._pick(menu)

    async def _pick(self, menu: Menu) -> str:
        picker = Picker(menu)
        await self.panels.mount(picker)
        self.screen.add_class("-picking")
        try:
            return await picker.answer
        finally:
            # Not if the screen is gone, and the picker with it.
            if self.panels.is_attached:
                self.screen.remove_class("-picking")
                await picker.remove()
                (self.panels.panel or self.prompt).focus()

    # What the person does.

    @on(Prompt.Sent)
    def _take_prompt(self, event: Prompt.Sent) -> None:
        self.transcript.anchor()
        self.conversation.submit(event.text)

    @on(TextArea.Changed, "#prompt")
    def _show_sign(self) -> None:
        is_own = self.prompt.text.startswith("!")
        self.query_one("#sign", Static).update("! " if is_own else "› ")
        self.query_one("#box").set_class(is_own, "-own")

    @on(StrayKey)
    def _insert_key(self, event: StrayKey) -> None:
        self.prompt.insert(event.character)

    @on(TranscriptView.FocusReleased)
    def _focus_prompt(self) -> None:
        self.prompt.focus()

    def on_key(self, event: events.Key) -> None:
        """Keys typed while a card has the focus are meant for the prompt."""
        if isinstance(self.focused, PieceWidget | None) and event.is_printable and event.character:
            event.stop()
            self.prompt.focus()
            self.prompt.insert(event.character)

    def action_interrupt(self) -> None:
        panel = self.panels.panel
        if panel and panel.close_input():
            return
        if not self.prompt.has_focus and not panel:
            self.prompt.focus()
            return
        if self.conversation.is_busy:
            self.conversation.interrupt()
        elif time.monotonic() - self._escaped < DOUBLE_PRESS_SECONDS:
            self._escaped = 0.0
            self.conversation.submit("/rewind")
        else:
            self._escaped = time.monotonic()

    def action_stop(self) -> None:
        if self._leave_picker():
            return
        if (selected := self.screen.get_selected_text()) and not self.conversation.is_busy:
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            return
        if self.conversation.is_loading and not self.prompt.text.strip():
            # As before the prompt was there: nothing runs yet that could be stopped.
            self.action_leave()
            return
        is_second = time.monotonic() - self._stopped < DOUBLE_PRESS_SECONDS
        self._stopped = time.monotonic()
        if not is_second and self.conversation.interrupt():
            self.add(NotePiece("stopping; press Ctrl+C again to leave"))
        elif not is_second and self.prompt.text.strip():
            self.prompt.keep_draft()
            self.add(NotePiece("press Up to get back what you typed, or Ctrl+C again to leave"))
        else:
            self.action_leave()

    def action_end_of_input(self) -> None:
        if self.prompt.text:
            self.prompt.action_delete_right()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        # First of all: leaving a second time does not wait for the rest.
        self.prompt.keep_draft()
        if self._is_leaving:
            self.exit(0)  # the run may never end
            return
        self._is_leaving = True
        self.run_worker(self._leave())

    def action_next_mode(self) -> None:
        session = self.conversation.session
        if session and session.mode in MODES:
            session.mode = MODES[(MODES.index(session.mode) + 1) % len(MODES)]
            self.refresh_figures()

    def action_next_effort(self) -> None:
        self.conversation.next_effort()

    async def _search_history(self) -> None:
        lines = list(dict.fromkeys(reversed(self.prompt.lines_kept.lines)))
        items = tuple(MenuItem(line, "", line) for line in lines)
        if chosen := await self._pick(Menu("earlier input", items)):
            self.draft(chosen)

    def action_search_history(self) -> None:
        if not self.panels.panel and not self.query(Picker):
            self.run_worker(self._search_history())

    async def action_edit_prompt(self) -> None:
        """Write the prompt in an editor. It takes the whole terminal, so nothing may run meanwhile."""
        if self.conversation.is_busy:
            self.add(NotePiece("the editor waits until this is done"))
            return
        # Imported with the first use: most prompts need no editor.
        from holdfast.terminal.editor import edit_text, editor_command  # noqa: PLC0415

        try:
            command = editor_command(os.environ)
            with self.suspend():
                # Waited for but not awaited: Textual does not bring the screen back after an exception in here.
                editing = asyncio.create_task(asyncio.to_thread(edit_text, self.prompt.whole, command))
                await asyncio.wait([editing])
            text = editing.result()
        except (HoldfastError, OSError, SuspendNotSupported) as error:
            self.add(NotePiece(str(error), "warning"))
            return
        self.prompt.put(text)

    def action_toggle_card(self) -> None:
        self.transcript.toggle_newest()

    def action_look_back(self) -> None:
        self.transcript.action_next_entry(-1)

    def action_scroll_transcript(self, pages: int) -> None:
        self.transcript.scroll_relative(y=pages * (self.transcript.size.height - 2), animate=False)

    def action_repaint(self) -> None:
        self.refresh(layout=True)

    def _end(self, number: int) -> None:
        """Leave, but not later than after some seconds: painting blocks when the terminal is gone. The log is
        complete at any moment."""
        seconds = GONE_SECONDS if number == signal.SIGHUP else CLOSE_SECONDS + GONE_SECONDS
        last = threading.Timer(seconds, os._exit, (128 + number,))
        last.daemon = True
        last.start()
        self.action_leave()

    async def _leave(self) -> None:
        self.busy("leaving")
        code = 0
        try:
            await asyncio.wait_for(self.conversation.close(), CLOSE_SECONDS)
        except TimeoutError:
            code = 1
        self.exit(code)

    def _offer(self, wanted: CompletionQuery) -> Sequence[Candidate]:
        if wanted.kind == "command":
            listed = [Candidate(usage.split()[0], about) for usage, about in self.conversation.listed()]
            return match_commands(wanted.typed, listed)
        self._files.refresh(self.prompt.look_for_candidates)
        return match_files(wanted.typed, self._files.paths)
