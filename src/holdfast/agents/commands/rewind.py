"""`/rewind`: back to before something was said: the talk, the files, or both.

Rule: nothing is lost. What the talk leaves behind stays in the log, off the path; of the files only what is known
to be of the agent's doing is taken back, all or none, never over what somebody else wrote since. What stays is
named.
"""

from collections.abc import Sequence

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown, expect_rest, number_in
from holdfast.agents.commands.edits import edits_of, left_in
from holdfast.agents.commands.rounds import Round, drawn, rounds_of
from holdfast.agents.commands.writing import bullets, code, counted, fenced, joined
from holdfast.errors import InputError
from holdfast.events import Noted, Rewound
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.seen import Made
from holdfast.tools.files.undoing import undo

MORE = """\
`/rewind` lists the rounds. `/rewind 3` says what going back before round 3 would change; `/rewind 3 talk` lets the
talk go on as if rounds from 3 on had not been, `/rewind 3 files` takes back the edits made since, `/rewind 3 both`
does both. What commands did is taken back where the file was known before, and named where it was not: files that
they created or deleted, and those that nobody had read. What was said in round 3 stands in the prompt again."""

WHAT = ("talk", "files", "both")


async def _run(desk: Desk, argument: str) -> Shown:
    expect_rest(desk, "going back")
    rounds = rounds_of(desk.session)
    if not argument:
        if not rounds:
            raise InputError("nothing was said yet", hint="there is no round to go back to")
        return Shown(joined(drawn(rounds), "`/rewind N` says what going back before round N would change."))
    number, _, what = argument.partition(" ")
    round_ = rounds[number_in(number, len(rounds), "round") - 1]
    what = what.strip().lower()
    if not what:
        return Shown(_previewed(desk, round_, len(rounds)))
    if what not in WHAT:
        raise REWIND.misused(f"`{what}` cannot be gone back in: the talk can, the files, or both")
    if what == "files":
        return _files_back(desk, round_)
    return rewind(desk, round_, files=what == "both")


def made_since(desk: Desk, round_: Round) -> list[Made]:
    """The edits since a round began, oldest first."""
    return [made for made in desk.bench.files.made if made.step > round_.steps]


def rewind(desk: Desk, round_: Round, *, files: bool) -> Shown:
    """The talk goes on from before a round, with the files as they were then or as they are."""
    made, left = made_since(desk, round_), left_in(desk.bench, round_.steps)
    diff = ""
    if files and made:
        result = undo(desk.bench.files, desk.workspace, len(made))
        # On the way that is left: should the next line never be written, it says what became of the edits.
        desk.session.record(Noted("undo", result.envelope.text, result.envelope.data))
        diff = result.shown
    desk.session.log.append(Rewound(f"before round {round_.number}", files=files), parent=round_.before)
    desk.reread()
    head = f"The talk goes on from before round {round_.number}, which began with {code(round_.words)}."
    if diff:
        text = joined(head, _took_back(made), fenced(diff, "diff"), left)
        return Shown(text, is_reread=True, draft=round_.text)
    stays = (
        "" if files or not made else f"Edits made since stay in {_names(made)}; it no longer knows of them."
    )
    return Shown(joined(head, stays, left), is_reread=True, draft=round_.text)


def _files_back(desk: Desk, round_: Round) -> Shown:
    made, left = made_since(desk, round_), left_in(desk.bench, round_.steps)
    if not made:
        raise InputError(f"no file was edited since round {round_.number} began", hint=left)
    diff = desk.undo(len(made))
    return Shown(joined(f"{_took_back(made)} The agent is told.", fenced(diff, "diff"), left))


def _previewed(desk: Desk, round_: Round, rounds: int) -> str:
    leaves = rounds - round_.number + 1
    behind = f"{counted(leaves, 'round')} left behind, from {code(round_.words)} on"
    lines = [f"{code(f'/rewind {round_.number} talk')}: {behind}; files stay as they are."]
    made, left = made_since(desk, round_), left_in(desk.bench, round_.steps)
    if not made:
        lines.append("No file was edited since.")
        return joined(bullets(lines), left)
    try:
        undo(desk.bench.files, desk.workspace, len(made), dry_run=True)
    except ToolError as error:
        lines.append(f"The edits made since in {_names(made)} cannot be taken back: {error.message}.")
        return joined(bullets(lines), left)
    edits = f"{counted(len(edits_of(made)), 'edit')} taken back in {_names(made)}"
    lines.append(f"{code(f'/rewind {round_.number} files')}: {edits}.")
    lines.append(f"{code(f'/rewind {round_.number} both')}: both.")
    return joined(bullets(lines), left)


def _took_back(made: Sequence[Made]) -> str:
    return f"{counted(len(edits_of(made)), 'edit')} taken back in {_names(made)}."


def _names(made: Sequence[Made]) -> str:
    return ", ".join(code(path) for path in dict.fromkeys(one.path for one in made))


REWIND = Command("rewind", "/rewind [N [talk|files|both]]", "back to before something was said", _run, MORE)
