"""`/undo`: undo the last edits, by the agent, its sub-agents and their commands. `/rewind`: go back to before a
round: the session, the files, or both. `/fork`: a new session that continues from here, or from before an earlier
round.

Rule: nothing is lost. Edits are undone all or none, and never over what someone else wrote since; what a command
did counts as one edit, and what cannot be undone is named. What a session leaves behind stays in the log, off the
path. Before a round means before what was said, and after everything earlier, so that what was recorded between two
rounds stays. A fork packs to the same requests: its entries get ids of their own, and what refers to an entry (a
fold, a summary) refers to its copy; what people, models and tools said is copied as it is, and the files stay.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.coding.command_effects import CommandEdit
from holdfast.agents.coding.tool_state import ToolState
from holdfast.agents.commands.command import SlashCommand, parse_number, require_idle
from holdfast.agents.commands.markdown import bullets, code, fenced, joined, table
from holdfast.agents.outcomes import CommandAnswer, Menu, MenuItem
from holdfast.agents.sessions import COPIED, ROOT, SOURCE, first_words
from holdfast.errors import InputError
from holdfast.events import (
    Compacted,
    CompactionFailed,
    Entry,
    Folded,
    LogStarted,
    Noted,
    Recorded,
    Rewound,
    Undone,
)
from holdfast.ids import entry_id
from holdfast.log import Log
from holdfast.messages import joined_text
from holdfast.numbers import counted
from holdfast.session import Session
from holdfast.store.encoding import encode_event
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.seen_files import AgentEdit
from holdfast.tools.files.undo import undo
from holdfast.views import path

MOST_NAMED = 20


def group_edits(made: Iterable[AgentEdit]) -> list[list[AgentEdit]]:
    """The changes of each edit, oldest first."""

    def edit(one: AgentEdit) -> str | int:
        return one.command if isinstance(one, CommandEdit) else id(one)

    return [list(changes) for _, changes in groupby(made, key=edit)]


def describe_irreversible(state: ToolState, after: int, until: int | None = None) -> str:
    """What commands did after a step, up to another, that cannot be undone; empty if nothing."""
    left = [one for one in state.irreversible if after < one.step and (until is None or one.step <= until)]
    unseen = [step for step in state.unseen if after < step and (until is None or step <= until)]
    # The first change of a file matters most: its earlier content is not kept.
    ways = dict(reversed([(one.path, one.how) for one in left]))
    names = [f"{code(path)} ({how})" for path, how in sorted(ways.items())]
    more = f" and {counted(len(names) - MOST_NAMED, 'more file')}" if len(names) > MOST_NAMED else ""
    changed = f"Changed by commands, and cannot be undone: {', '.join(names[:MOST_NAMED])}{more}."
    known = f"{counted(len(unseen), 'command')} may have changed files that are not known: look with `git status`."
    return joined(changed if names else "", known if unseen else "")


async def _run_undo(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "an undo")
    edits = group_edits(coding.tool_state.files.edits)
    if not edits:
        raise InputError("there is no edit to undo", hint="`/diff` shows what commands changed")
    taken = edits[-(parse_number(argument, len(edits), "edit") if argument else 1) :]
    diff = coding.undo(sum(map(len, taken)))
    by_command = [edit[0].step for edit in taken if isinstance(edit[0], CommandEdit)]
    stays = joined(
        *(describe_irreversible(coding.tool_state, step - 1, step) for step in dict.fromkeys(by_command))
    )
    told = f"{counted(len(taken), 'edit')} undone; the agent is told."
    return CommandAnswer(joined(told, fenced(diff, "diff"), stays))


UNDO = SlashCommand("undo", "/undo [N]", "undo the last edit, or the last N", _run_undo)


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


REWIND_HELP = """\
`/rewind` lists the rounds. `/rewind 3` says what going back to before round 3 would change; `/rewind 3 session`
continues the session as if there had been no round 3 and later, `/rewind 3 files` undoes the edits made since,
`/rewind 3 both` does both. Changes by commands are undone if the file was known before, and named if not: files
that were created or deleted, and those that were never read. The prompt then holds what was said in round 3."""

WHAT = ("session", "talk", "files", "both")
"""`talk` is the old name of `session`."""


async def _run_rewind(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "going back")
    rounds = rewind_points(coding.session)
    if not argument:
        if not rounds:
            raise InputError("there is no round to go back to", hint="say something first")
        rows = [[str(one.number), code(one.words)] for one in rounds]
        listed = table(["round", "it began with"], rows, right=(0,))
        return CommandAnswer(
            joined(listed, "`/rewind N` says what going back to before round N would change."),
            menu=Menu("go back to before", tuple(map(_item, reversed(rounds)))),
        )
    number, _, what = argument.partition(" ")
    round_ = rounds[parse_number(number, len(rounds), "round") - 1]
    what = what.strip().lower()
    if not what:
        return _preview(coding, round_, len(rounds))
    if what not in WHAT:
        raise REWIND.misused(f"`{what}` cannot be rewound: `session`, `files` or `both` can")
    if what == "files":
        return _undo_files(coding, round_)
    return _rewind(coding, round_, files=what == "both")


def _made_since(coding: CodingSession, round_: RewindPoint) -> list[AgentEdit]:
    """The edits since a round began, oldest first."""
    return [made for made in coding.tool_state.files.edits if made.step > round_.steps]


def _rewind(coding: CodingSession, round_: RewindPoint, *, files: bool) -> CommandAnswer:
    """Continue from before a round, with the files as they were then or as they are."""
    made, left = _made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    diff = ""
    if files and made:
        result = undo(coding.tool_state.files, coding.workspace, len(made))
        # Recorded on the path that is left: if the next line is never written, the log still knows of the undo.
        coding.session.record(Noted("undo", result.envelope.text, result.envelope.data))
        diff = result.shown
    coding.session.log.append(Rewound(f"before round {round_.number}", files=files), parent=round_.before)
    coding.reread()
    head = f"The session continues from before round {round_.number}, which began with {code(round_.words)}."
    edits = ""
    if diff:
        edits = joined(_undone(made), fenced(diff, "diff"))
    elif made and not files:
        edits = f"Edits made since stay in {_names(made)}; the agent no longer knows of them."
    return CommandAnswer(joined(head, edits, left), is_reread=True, draft=round_.text)


def _undo_files(coding: CodingSession, round_: RewindPoint) -> CommandAnswer:
    made, left = _made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    if not made:
        raise InputError(f"no file was edited since round {round_.number} began", hint=left)
    diff = coding.undo(len(made))
    return CommandAnswer(joined(f"{_undone(made)} The agent is told.", fenced(diff, "diff"), left))


def _item(round_: RewindPoint) -> MenuItem:
    return MenuItem(round_.words, f"round {round_.number}", f"/rewind {round_.number}")


def _preview(coding: CodingSession, round_: RewindPoint, rounds: int) -> CommandAnswer:
    leaves = rounds - round_.number + 1
    behind = f"{counted(leaves, 'round')} left behind, from {code(round_.words)} on; files stay as they are"
    ways = {"session": behind}
    made, left = _made_since(coding, round_), describe_irreversible(coding.tool_state, round_.steps)
    note = "" if made else "No file was edited since."
    if made:
        try:
            undo(coding.tool_state.files, coding.workspace, len(made), dry_run=True)
            edits = f"{counted(len(group_edits(made)), 'edit')} undone in {_names(made)}"
            ways |= {"files": edits, "both": "the session goes back, and the files too"}
        except ToolError as error:
            note = f"The edits made since in {_names(made)} cannot be undone: {error.message}."
    lines = {f"/rewind {round_.number} {what}": about for what, about in ways.items()}
    items = (MenuItem(line.rpartition(" ")[2], about.replace("`", ""), line) for line, about in lines.items())
    listed = [*(f"{code(line)}: {about}." for line, about in lines.items()), *filter(None, [note])]
    return CommandAnswer(
        joined(bullets(listed), left),
        menu=Menu(
            f"go back to before round {round_.number}", tuple(items), joined(note, left).replace("`", "")
        ),
    )


def _undone(made: Sequence[AgentEdit]) -> str:
    return f"{counted(len(group_edits(made)), 'edit')} undone in {_names(made)}."


def _names(made: Sequence[AgentEdit]) -> str:
    return ", ".join(code(path) for path in dict.fromkeys(one.path for one in made))


REWIND = SlashCommand(
    "rewind",
    "/rewind [N [session|files|both]]",
    "go back to before something was said",
    _run_rewind,
    REWIND_HELP,
)


_ENTRY_ID = re.compile(r"\be[0-9a-z]{12}\b")


def _copy_path(session: Session, round_: RewindPoint | None, root: str) -> Log:
    """A new log with the path before a round, or with the whole path."""
    entries = path(session.log.entries(), head=round_.before if round_ else None)
    kept = [e for e in entries if not isinstance(e.event, LogStarted | Rewound | Undone)]
    first = entries[0].event
    started = first if isinstance(first, LogStarted) else LogStarted()
    # Not redacted again: all of it was redacted when it was written, and the ids below must be the final ones.
    log = Log.create(
        session.store,
        title=started.title,
        source=SOURCE,
        forked_from=entries[-1].id,
        meta={**started.meta, ROOT: root, COPIED: len(kept)},
        redact=str,
    )
    recorded = _renamed_events(kept, log.id, log.entries()[0])
    written = log.append_all([one for one, _ in recorded])
    assert [entry.id for entry in written] == [id_ for _, id_ in recorded], "a copy has the ids it was given"
    return log


def _renamed_events(kept: Sequence[Entry], log: str, first: Entry) -> list[tuple[Recorded, str]]:
    """The events of the copy, each with the id it will have: later events refer to earlier ones by it."""
    ids: dict[str, str] = {}
    parent, seq = first.id, first.seq
    found = []
    for entry in kept:
        event = entry.event
        if isinstance(event, Folded | Compacted | CompactionFailed):
            event = _renamed(event, ids)
        seq += 1
        parent = ids[entry.id] = entry_id(log, seq, parent, encode_event(event)[0])
        found.append((Recorded(event, at=entry.at), parent))
    return found


def _renamed(value: Any, ids: dict[str, str]) -> Any:
    """A value in which the ids of copied entries are replaced by those of their copies."""
    match value:
        case str():
            return _ENTRY_ID.sub(lambda found: ids.get(found[0], found[0]), value)
        case tuple():
            return tuple(_renamed(item, ids) for item in value)
        case Struct():
            return replace(
                value, **{name: _renamed(getattr(value, name), ids) for name in value.__struct_fields__}
            )
    return value


FORK_HELP = """\
`/fork` continues in a new session from here, `/fork 3` from before round 3. `/resume` returns to the old session.
Both work in the same folder: edits made since round 3 stay on the disk, unless `/rewind 3 files` undoes them before
the fork."""


async def _run_fork(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "a fork")
    rounds = rewind_points(coding.session)
    if not rounds:
        raise InputError("nothing was said yet", hint="a fork continues from something that was said")
    round_ = rounds[parse_number(argument, len(rounds), "round") - 1] if argument else None
    log = await asyncio.to_thread(_copy_path, coding.session, round_, coding.workspace.roots[0])
    where = f"from before round {round_.number}, {code(round_.words)}," if round_ else "from here"
    return CommandAnswer(
        joined(
            f"A new session {code(log.id)} continues {where} with the files as they are.",
            f"{code(f'/resume {coding.session.log.id}')} returns to this one.",
        ),
        open_log=log.id,
    )


FORK = SlashCommand(
    "fork", "/fork [N]", "continue in a new session, from here or from before round N", _run_fork, FORK_HELP
)
