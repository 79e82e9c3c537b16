"""`/rewind`: go back to before a round: the session, the files, or both.

Rule: nothing is lost. What the session leaves behind stays in the log, off the path. Of the files only known
changes by the agent are undone, all or none, and never over what someone else wrote since; what stays is named.
Before a round means before what was said, and after everything earlier, so that what was recorded between two
rounds stays.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, parse_number, require_idle
from holdfast.agents.commands.markdown import bullets, code, fenced, joined, table
from holdfast.agents.commands.undo import describe_irreversible, group_edits
from holdfast.agents.sessions import first_words
from holdfast.errors import InputError
from holdfast.events import Entry, Noted, Rewound
from holdfast.messages import joined_text
from holdfast.numbers import counted
from holdfast.session import Session
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.seen_files import AgentEdit
from holdfast.tools.files.undo import undo
from holdfast.views import path


class RewindPoint(Struct, frozen=True):
    """A round to go back to: its number, counted from 1, and what it began with. `before` is the entry after which
    the session continues without it, and `steps` how many steps were made before it."""

    number: int
    words: str
    before: str
    steps: int
    text: str


def rewind_points(session: Session) -> list[RewindPoint]:
    session.catch_up()
    transcript = session.window.transcript
    parents = {entry.id: entry.parent or "" for entry in session.log.entries()}
    found = []
    for number, position in enumerate(transcript.rounds, 1):
        item = transcript.items[position]
        steps = sum(step.position < position for step in transcript.steps)
        text = joined_text(item.message.parts)
        found.append(RewindPoint(number, first_words(text), parents[item.entry], steps, text))
    return found


def path_before(session: Session, round_: RewindPoint | None) -> list[Entry]:
    """The path before a round, or the whole path."""
    return path(session.log.entries(), head=round_.before if round_ else None)


def points_table(rounds: list[RewindPoint]) -> str:
    return table(["round", "it began with"], [[str(r.number), code(r.words)] for r in rounds], right=(0,))


MORE = """\
`/rewind` lists the rounds. `/rewind 3` says what going back to before round 3 would change; `/rewind 3 session`
continues the session as if there had been no round 3 and later, `/rewind 3 files` undoes the edits made since,
`/rewind 3 both` does both. Changes by commands are undone if the file was known before, and named if not: files
that were created or deleted, and those that were never read. The prompt then holds what was said in round 3."""

WHAT = ("session", "talk", "files", "both")
"""`talk` is the old name of `session`."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "going back")
    rounds = rewind_points(coding.session)
    if not argument:
        if not rounds:
            raise InputError("nothing was said yet", hint="there is no round to go back to")
        return CommandAnswer(
            joined(points_table(rounds), "`/rewind N` says what going back to before round N would change.")
        )
    number, _, what = argument.partition(" ")
    round_ = rounds[parse_number(number, len(rounds), "round") - 1]
    what = what.strip().lower()
    if not what:
        return CommandAnswer(_preview(coding, round_, len(rounds)))
    if what not in WHAT:
        raise REWIND.misused(f"`{what}` cannot be rewound: `session`, `files` or `both` can")
    if what == "files":
        return _undo_files(coding, round_)
    return rewind(coding, round_, files=what == "both")


def made_since(coding: CodingSession, round_: RewindPoint) -> list[AgentEdit]:
    """The edits since a round began, oldest first."""
    return [made for made in coding.tool_state.files.made if made.step > round_.steps]


def rewind(coding: CodingSession, round_: RewindPoint, *, files: bool) -> CommandAnswer:
    """Continue from before a round, with the files as they were then or as they are."""
    made, left = made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    diff = ""
    if files and made:
        result = undo(coding.tool_state.files, coding.workspace, len(made))
        # Recorded on the path that is left: if the next line is never written, the log still knows of the undo.
        coding.session.record(Noted("undo", result.envelope.text, result.envelope.data))
        diff = result.shown
    coding.session.log.append(Rewound(f"before round {round_.number}", files=files), parent=round_.before)
    coding.reread()
    head = f"The session continues from before round {round_.number}, which began with {code(round_.words)}."
    if diff:
        text = joined(head, _undone(made), fenced(diff, "diff"), left)
        return CommandAnswer(text, is_reread=True, draft=round_.text)
    stays = (
        ""
        if files or not made
        else f"Edits made since stay in {_names(made)}; the agent no longer knows of them."
    )
    return CommandAnswer(joined(head, stays, left), is_reread=True, draft=round_.text)


def _undo_files(coding: CodingSession, round_: RewindPoint) -> CommandAnswer:
    made, left = made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    if not made:
        raise InputError(f"no file was edited since round {round_.number} began", hint=left)
    diff = coding.undo(len(made))
    return CommandAnswer(joined(f"{_undone(made)} The agent is told.", fenced(diff, "diff"), left))


def _preview(coding: CodingSession, round_: RewindPoint, rounds: int) -> str:
    leaves = rounds - round_.number + 1
    behind = f"{counted(leaves, 'round')} left behind, from {code(round_.words)} on"
    lines = [f"{code(f'/rewind {round_.number} session')}: {behind}; files stay as they are."]
    made, left = made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    if not made:
        lines.append("No file was edited since.")
        return joined(bullets(lines), left)
    try:
        undo(coding.tool_state.files, coding.workspace, len(made), dry_run=True)
    except ToolError as error:
        lines.append(f"The edits made since in {_names(made)} cannot be undone: {error.message}.")
        return joined(bullets(lines), left)
    edits = f"{counted(len(group_edits(made)), 'edit')} undone in {_names(made)}"
    lines.append(f"{code(f'/rewind {round_.number} files')}: {edits}.")
    lines.append(f"{code(f'/rewind {round_.number} both')}: both.")
    return joined(bullets(lines), left)


def _undone(made: Sequence[AgentEdit]) -> str:
    return f"{counted(len(group_edits(made)), 'edit')} undone in {_names(made)}."


def _names(made: Sequence[AgentEdit]) -> str:
    return ", ".join(code(path) for path in dict.fromkeys(one.path for one in made))


REWIND = SlashCommand(
    "rewind", "/rewind [N [session|files|both]]", "go back to before something was said", _run, MORE
)
