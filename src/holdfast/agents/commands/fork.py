"""`/fork`: a new talk that goes on from here, or from before an earlier round; this one stays as it is.

Rule: two talks share a folder, not a future. The files are as they are.
"""

import asyncio

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown, expect_rest, number_in
from holdfast.agents.commands.copying import copy_path
from holdfast.agents.commands.rounds import Round, path_before, rounds_of
from holdfast.agents.commands.writing import code, joined
from holdfast.errors import InputError
from holdfast.log import Log

MORE = """\
`/fork` goes on in a new talk from here, `/fork 3` from before round 3. The talk it came from is found again with
`/resume`. Both work in the same folder: edits made since round 3 stay on the disk, and `/rewind 3 files`, before
the fork, takes them back."""


async def _run(desk: Desk, argument: str) -> Shown:
    expect_rest(desk, "a fork")
    rounds = rounds_of(desk.session)
    if not rounds:
        raise InputError("nothing was said yet", hint="a fork goes on from something that was said")
    round_ = rounds[number_in(argument, len(rounds), "round") - 1] if argument else None
    log = await asyncio.to_thread(fork, desk, round_)
    where = f"from before round {round_.number}, {code(round_.words)}," if round_ else "from here"
    return Shown(
        joined(
            f"A new talk {code(log.id)} goes on {where} with the files as they are.",
            f"{code(f'/resume {desk.session.log.id}')} leads back to this one.",
        ),
        open_log=log.id,
    )


def fork(desk: Desk, round_: Round | None = None) -> Log:
    """A new log with what counts before a round, or with all that counts now."""
    session = desk.session
    return copy_path(session.store, path_before(session, round_), desk.workspace.roots[0])


FORK = Command("fork", "/fork [N]", "go on in a new talk, from here or from before round N", _run, MORE)
