"""`holdfast pair`: two agents that hand work to each other.

Rule: what it came to is the only thing on stdout; what happens on the way is said on stderr. It can be ended at any
moment, and `--continue` goes on where it was.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.coding.wish import Wish
from holdfast.agents.coding.within_reach import NoModel
from holdfast.agents.headless import Signals
from holdfast.agents.pairing.approval import Approvals, Auto, FromFile
from holdfast.agents.pairing.orchestrator import DONE
from holdfast.agents.pairing.outcome import BLOCKED, Outcome
from holdfast.agents.pairing.setup import OpenedPair, PairWish, People, open_pair
from holdfast.cli.agent_options import MODES, SANDBOXES
from holdfast.cli.codes import ENDS
from holdfast.cli.happenings import say_no_model
from holdfast.cli.options import STORE, Amount, common_options, json_option, offered
from holdfast.cli.output import complain, counted, hint, printable, say, warn, write, write_json
from holdfast.cli.paired import AtTerminal, Telling
from holdfast.cli.sources import store_path
from holdfast.errors import InputError
from holdfast.pair.roles import built_in, load_limits, load_pair
from holdfast.pair.state import State
from holdfast.pair.stopping import MOST, MOST_DOLLARS

F = TypeVar("F", bound=Callable[..., Any] | click.Command)

STOPPED, UNDELIVERED = 20, 21
CODES = {**ENDS, "success": 0, DONE: 0, "rejected": UNDELIVERED}
"""By what it came to; every other reason is a rule's that stopped it before the target."""
RAISED = {"iterations": "--max-iterations N", "cost": "--max-cost DOLLARS"}
"""What gives another limit; every other one stands in a file."""

EXAMPLES = """\b
Examples:
  holdfast pair refunds
  holdfast pair refunds -p "rules for refunds" --allow "Bash(make:*)"
  holdfast pair refunds --approve auto --max-iterations 5 --max-cost 10
  holdfast pair refunds --continue
  holdfast pair book --pair author_tester.toml --json

\b
Exit code 0 if the target is reached, 17 if a person must decide first, 20 if
a rule stopped it before; docs/pair.md lists all. `--continue` goes on."""

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


def model_option(name: str, which: str) -> Callable[[F], F]:
    return click.option(
        name, metavar="M", default="", shell_complete=offered("models"), help=f"Model of the {which} agent."
    )


@click.command(epilog=EXAMPLES)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("-p", "--prompt", metavar="TEXT", default="", help="The task; else `task.md` of DIR.")
@model_option("--init-model", "first")
@model_option("--execute-model", "second")
@click.option("--max-iterations", metavar="N", type=click.IntRange(1, MOST), help="At most N iterations.")
@click.option(
    "--max-cost", metavar="DOLLARS", type=Amount("dollars", MOST_DOLLARS), help="Of both, in all runs."
)
@click.option(
    "--approve",
    type=click.Choice(("ask", "auto", "file")),
    default="ask",
    show_default=True,
    help="Who approves a design: you, nobody, or a file that you write.",
)
@click.option(
    "--pair", "pair_file", metavar="FILE", type=FILE, help="A pair, in TOML; with `--continue` its limits."
)
@click.option("--continue", "-c", "goes_on", is_flag=True, help="Go on with the newest pair of DIR.")
@click.option("--log", metavar="ID", default="", shell_complete=offered("logs"), help="Go on with this pair.")
@click.option("--mode", type=click.Choice(MODES), help="As with `holdfast run`; else `edit`.")
@click.option(
    "--allow", metavar="RULE", multiple=True, help="A rule such as `Bash(make:*)`; may be given again."
)
@click.option("--sandbox", type=click.Choice(SANDBOXES), help="What commands run in; else `auto`.")
@click.option("--trust", "trusts", is_flag=True, help="Trust the holdfast.toml of DIR, as it is now.")
@json_option
@common_options
@click.pass_context
def command(ctx: click.Context, /, as_json: bool, approve: str, **given: Any) -> None:
    """Let two agents work: one designs, the other builds and evaluates.

    Init writes a design, which is approved first; Execute builds from it, evaluates, and reports what is wrong with
    the design. So they go on until enough samples pass, or a rule stops them.
    """
    wish = wish_of(ctx.meta.get(STORE), given)
    telling = Telling()
    root = wish.wish.root.resolve()
    if approve == "file":
        # Looked at before anything is opened, so that a refusal leaves no log behind.
        approvals_of(approve, store_path(ctx), "new", root)
    people = People(lambda place, log: approvals_of(approve, place, log, root), telling.tell, telling.watch)
    try:
        ended = asyncio.run(carry_out(wish, people))
    except NoModel as error:
        say_no_model(_both(error.message), _both(error.found), error.hint)
        ctx.exit(error.exit_code)
    show(ended, as_json=as_json)
    ctx.exit(ended.code)


def wish_of(store: Path | None, given: dict[str, Any]) -> PairWish:
    folder: Path = given["folder"]
    goes_on = given["goes_on"] or bool(given["log"])
    if not folder.is_dir():
        raise InputError(f"there is no folder `{folder}`", hint="name the folder that both are to work in")
    if goes_on and given["prompt"]:
        raise InputError(
            "`--continue` goes on with the task that is in the log",
            hint="leave `-p` away, or begin anew without `--continue`",
        )
    wish = Wish(
        root=folder,
        store=store,
        log=given["log"],
        mode=given["mode"],
        allow=given["allow"],
        sandbox=given["sandbox"],
        trusts=given["trusts"],
    )
    file: Path | None = given["pair_file"]
    pair = None if goes_on else load_pair(file) if file else built_in()
    return PairWish(
        wish=wish,
        pair=pair,
        # Of a pair that is gone on with, the limits alone may be others.
        stop=load_limits(file) if goes_on and file else None,
        task=given["prompt"],
        models=(given["init_model"], given["execute_model"]),
        max_iterations=given["max_iterations"],
        max_cost=given["max_cost"],
    )


def approvals_of(approve: str, place: Path, log: str, root: Path) -> Approvals:
    """Files lie beside the store, where no agent writes."""
    if approve == "auto":
        return Auto()
    if approve == "ask":
        return AtTerminal()
    folder = place.with_name(f"{place.name}.approvals").resolve() / log
    if folder.is_relative_to(root):
        raise InputError(
            f"approvals in {folder} could be written by the agents themselves",
            hint="`--store` chooses a store outside the folder that they work in",
        )
    return FromFile(folder)


def _both(said: str) -> str:
    """Words about one agent's `--model`, for two that have an option each."""
    return said.replace("`--model`", "`--init-model` and `--execute-model`").replace(
        "--model ", "--init-model "
    )


class End(Struct, frozen=True):
    """What it came to, where the pair stands, what both agents spent in all runs, and how it is gone on with."""

    outcome: Outcome
    state: State
    logs: tuple[str, ...]
    dollars: float
    code: int
    again: str = "--continue"


async def carry_out(wish: PairWish, people: People) -> End:
    """Run it to its end."""
    signals = Signals()
    with signals.caught():
        try:
            opened = await open_pair(wish, people, env=os.environ)
        except asyncio.CancelledError:
            if not signals.settle():
                raise
            return End(Outcome("interrupted", "interrupted"), State(), (), 0.0, 128 + signals.came)
        try:
            for one in opened.notes:
                warn(one)
            outcome = await _followed(opened, signals)
            code = 128 + signals.came if signals.came else CODES.get(outcome.reason, STOPPED)
            pair = opened.orchestrator
            log = pair.log.id
            logs = (log, *(f"{log}.{role.name}" for role in pair.pair.roles))
            # One from another machine is found by its id alone: it was begun in another folder.
            again = f"--log {log}" if wish.wish.log else "--continue"
            return End(outcome, pair.state, logs, pair.plan.spent(), code, again)
        finally:
            await opened.close()


async def _followed(opened: OpenedPair, signals: Signals) -> Outcome:
    def follow(agent: Agent) -> None:
        signals.agent = agent

    opened.orchestrator.follow(follow, lambda: bool(signals.came))
    try:
        return await opened.orchestrator.run()
    except asyncio.CancelledError:
        if not signals.settle():
            raise
        return Outcome("interrupted", "interrupted", "go on with `--continue`")


def show(end: End, *, as_json: bool) -> None:
    outcome, state = end.outcome, end.state
    if CODES.get(outcome.reason) != 0:
        complain(outcome.sentence)
    hint((outcome.hint or _hint(outcome)).replace("--continue", end.again))
    parts = [counted(state.iterations, "iteration"), counted(state.turn, "turn")]
    parts += [f"${end.dollars:.4f}"] if end.dollars else []
    if end.logs:
        say(", ".join([*parts, f"log {end.logs[0]}"]))
    if as_json:
        write_json(_told(end))
        return
    lines = [f"{outcome.reason}: {outcome.sentence}", *(f"- {line}" for line in outcome.evidence)]
    lines += [f"- open: {one.text}" for one in state.pending.values()]
    # Agents wrote some of these words: none of them may begin a line or reach the terminal as an order.
    write("".join(f"{printable(line)}\n" for line in lines))


def _hint(outcome: Outcome) -> str:
    """How an end by a rule is gone on with."""
    if not outcome.ended or CODES.get(outcome.reason) == 0:
        return ""
    if outcome.reason == BLOCKED:
        return "make it possible; `--continue` goes on with another `--allow`, `--mode` or limit"
    if option := RAISED.get(outcome.reason):
        return f"`--continue {option}` goes on"
    return "`--continue --pair FILE` goes on, with other limits in its `[stop]`"


def _told(end: End) -> dict[str, Any]:
    results = end.state.results
    return {
        "outcome": end.outcome.reason,
        "sentence": end.outcome.sentence,
        "evidence": end.outcome.evidence,
        "ended": end.outcome.ended,
        "iterations": [
            {"iteration": one.iteration, "passed": one.passed, "total": one.total} for one in results
        ],
        "pending": [*end.state.pending.values()],
        "dollars": end.dollars,
        "logs": end.logs,
    }
