"""The rounds of a talk, as places to go back to.

Rule: before a round means before what was said, and behind everything that came earlier, so that what was taken in
between two rounds stays.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, parse_number, require_idle
from holdfast.agents.commands.markdown import bullets, code, counted, fenced, joined, table
from holdfast.agents.commands.undo import describe_irreversible, group_edits
from holdfast.agents.sessions import first_words
from holdfast.errors import InputError
from holdfast.events import Entry, Noted, Rewound
from holdfast.messages import joined_text
from holdfast.session import Session
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.seen_files import AgentEdit
from holdfast.tools.files.undo import undo
from holdfast.views import path


class RewindPoint(Struct, frozen=True):
    """A round by its number, counted from 1, and what it began with. `before` is the entry behind which the talk
    goes on without it, and `steps` how many steps were made before it."""

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
    """The entries that count before a round; all that count now where none is given."""
    return path(session.log.entries(), head=round_.before if round_ else None)


def points_table(rounds: list[RewindPoint]) -> str:
    return table(["round", "it began with"], [[str(r.number), code(r.words)] for r in rounds], right=(0,))


# `/rewind`: back to before something was said: the talk, the files, or both.
#
# Rule: nothing is lost. What the talk leaves behind stays in the log, off the path; of the files only what is known
# to be of the agent's doing is taken back, all or none, never over what somebody else wrote since. What stays is
# named.

MORE = """\
`/rewind` lists the rounds. `/rewind 3` says what going back before round 3 would change; `/rewind 3 talk` lets the
talk go on as if rounds from 3 on had not been, `/rewind 3 files` takes back the edits made since, `/rewind 3 both`
does both. What commands did is taken back where the file was known before, and named where it was not: files that
they created or deleted, and those that nobody had read. What was said in round 3 stands in the prompt again."""

WHAT = ("talk", "files", "both")


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "going back")
    rounds = rewind_points(coding.session)
    if not argument:
        if not rounds:
            raise InputError("nothing was said yet", hint="there is no round to go back to")
        return CommandAnswer(
            joined(points_table(rounds), "`/rewind N` says what going back before round N would change.")
        )
    number, _, what = argument.partition(" ")
    round_ = rounds[parse_number(number, len(rounds), "round") - 1]
    what = what.strip().lower()
    if not what:
        return CommandAnswer(_previewed(coding, round_, len(rounds)))
    if what not in WHAT:
        raise REWIND.misused(f"`{what}` cannot be gone back in: the talk can, the files, or both")
    if what == "files":
        return _files_back(coding, round_)
    return rewind(coding, round_, files=what == "both")


def made_since(coding: CodingSession, round_: RewindPoint) -> list[AgentEdit]:
    """The edits since a round began, oldest first."""
    return [made for made in coding.tool_state.files.made if made.step > round_.steps]


def rewind(coding: CodingSession, round_: RewindPoint, *, files: bool) -> CommandAnswer:
    """The talk goes on from before a round, with the files as they were then or as they are."""
    made, left = made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    diff = ""
    if files and made:
        result = undo(coding.tool_state.files, coding.workspace, len(made))
        # On the way that is left: should the next line never be written, it says what became of the edits.
        coding.session.record(Noted("undo", result.envelope.text, result.envelope.data))
        diff = result.shown
    coding.session.log.append(Rewound(f"before round {round_.number}", files=files), parent=round_.before)
    coding.reread()
    head = f"The talk goes on from before round {round_.number}, which began with {code(round_.words)}."
    if diff:
        text = joined(head, _took_back(made), fenced(diff, "diff"), left)
        return CommandAnswer(text, is_reread=True, draft=round_.text)
    stays = (
        "" if files or not made else f"Edits made since stay in {_names(made)}; it no longer knows of them."
    )
    return CommandAnswer(joined(head, stays, left), is_reread=True, draft=round_.text)


def _files_back(coding: CodingSession, round_: RewindPoint) -> CommandAnswer:
    made, left = made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    if not made:
        raise InputError(f"no file was edited since round {round_.number} began", hint=left)
    diff = coding.undo(len(made))
    return CommandAnswer(joined(f"{_took_back(made)} The agent is told.", fenced(diff, "diff"), left))


def _previewed(coding: CodingSession, round_: RewindPoint, rounds: int) -> str:
    leaves = rounds - round_.number + 1
    behind = f"{counted(leaves, 'round')} left behind, from {code(round_.words)} on"
    lines = [f"{code(f'/rewind {round_.number} talk')}: {behind}; files stay as they are."]
    made, left = made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    if not made:
        lines.append("No file was edited since.")
        return joined(bullets(lines), left)
    try:
        undo(coding.tool_state.files, coding.workspace, len(made), dry_run=True)
    except ToolError as error:
        lines.append(f"The edits made since in {_names(made)} cannot be taken back: {error.message}.")
        return joined(bullets(lines), left)
    edits = f"{counted(len(group_edits(made)), 'edit')} taken back in {_names(made)}"
    lines.append(f"{code(f'/rewind {round_.number} files')}: {edits}.")
    lines.append(f"{code(f'/rewind {round_.number} both')}: both.")
    return joined(bullets(lines), left)


def _took_back(made: Sequence[AgentEdit]) -> str:
    return f"{counted(len(group_edits(made)), 'edit')} taken back in {_names(made)}."


def _names(made: Sequence[AgentEdit]) -> str:
    return ", ".join(code(path) for path in dict.fromkeys(one.path for one in made))


REWIND = SlashCommand(
    "rewind", "/rewind [N [talk|files|both]]", "back to before something was said", _run, MORE
)
