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
from holdfast.agents.coding.headless import SignalHandler
from holdfast.agents.model_choice import NoModel
from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.decisions import Approvals, AutoApprovals, FileApprovals
from holdfast.agents.pair.orchestrator import DONE
from holdfast.agents.pair.outcome import BLOCKED, PairOutcome
from holdfast.agents.pair.startup import OpenedPair, PairCallbacks, PairOptions, open_pair
from holdfast.cli.event_output import say_no_model
from holdfast.cli.exits import EXIT_CODES
from holdfast.cli.inputs import store_path
from holdfast.cli.options import (
    MODES,
    SANDBOXES,
    STORE,
    PositiveAmount,
    common_options,
    complete_with,
    json_option,
)
from holdfast.cli.pair_terminal import PairProgress, TerminalApprovals
from holdfast.cli.streams import (
    format_count,
    hint,
    printable,
    say,
    say_error,
    warn,
    write,
    write_json,
)
from holdfast.errors import InputError
from holdfast.pair.roles import built_in_pair, load_pair, load_stop_table
from holdfast.pair.state import PairState
from holdfast.pair.stop_rules import MOST, MOST_DOLLARS

F = TypeVar("F", bound=Callable[..., Any] | click.Command)

STOPPED, UNDELIVERED = 20, 21
CODES = {**EXIT_CODES, "success": 0, DONE: 0, "rejected": UNDELIVERED}
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
        name,
        metavar="M",
        default="",
        shell_complete=complete_with("models"),
        help=f"Model of the {which} agent.",
    )


@click.command(epilog=EXAMPLES)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("-p", "--prompt", metavar="TEXT", default="", help="The task; else `task.md` of DIR.")
@model_option("--init-model", "first")
@model_option("--execute-model", "second")
@click.option("--max-iterations", metavar="N", type=click.IntRange(1, MOST), help="At most N iterations.")
@click.option(
    "--max-cost",
    metavar="DOLLARS",
    type=PositiveAmount("dollars", MOST_DOLLARS),
    help="Of both, in all runs.",
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
@click.option(
    "--log", metavar="ID", default="", shell_complete=complete_with("logs"), help="Go on with this pair."
)
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
    wish = make_pair_options(ctx.meta.get(STORE), given)
    telling = PairProgress()
    root = wish.wish.root.resolve()
    if approve == "file":
        # Looked at before anything is opened, so that a refusal leaves no log behind.
        choose_approvals(approve, store_path(ctx), "new", root)
    people = PairCallbacks(
        lambda place, log: choose_approvals(approve, place, log, root), telling.tell, telling.watch
    )
    try:
        ended = asyncio.run(run_pair_to_end(wish, people))
    except NoModel as error:
        say_no_model(_both(error.message), _both(error.found), error.hint)
        ctx.exit(error.exit_code)
    show(ended, as_json=as_json)
    ctx.exit(ended.code)


def make_pair_options(store: Path | None, given: dict[str, Any]) -> PairOptions:
    folder: Path = given["folder"]
    goes_on = given["goes_on"] or bool(given["log"])
    if not folder.is_dir():
        raise InputError(f"there is no folder `{folder}`", hint="name the folder that both are to work in")
    if goes_on and given["prompt"]:
        raise InputError(
            "`--continue` goes on with the task that is in the log",
            hint="leave `-p` away, or begin anew without `--continue`",
        )
    wish = AgentOptions(
        root=folder,
        store=store,
        log=given["log"],
        mode=given["mode"],
        allow=given["allow"],
        sandbox=given["sandbox"],
        trusts=given["trusts"],
    )
    file: Path | None = given["pair_file"]
    pair = None if goes_on else load_pair(file) if file else built_in_pair()
    return PairOptions(
        wish=wish,
        pair=pair,
        # Of a pair that is gone on with, the limits alone may be others.
        stop=load_stop_table(file) if goes_on and file else None,
        task=given["prompt"],
        models=(given["init_model"], given["execute_model"]),
        max_iterations=given["max_iterations"],
        max_cost=given["max_cost"],
    )


def choose_approvals(approve: str, place: Path, log: str, root: Path) -> Approvals:
    """Files lie beside the store, where no agent writes."""
    if approve == "auto":
        return AutoApprovals()
    if approve == "ask":
        return TerminalApprovals()
    folder = place.with_name(f"{place.name}.approvals").resolve() / log
    if folder.is_relative_to(root):
        raise InputError(
            f"approvals in {folder} could be written by the agents themselves",
            hint="`--store` chooses a store outside the folder that they work in",
        )
    return FileApprovals(folder)


def _both(said: str) -> str:
    """Words about one agent's `--model`, for two that have an option each."""
    return said.replace("`--model`", "`--init-model` and `--execute-model`").replace(
        "--model ", "--init-model "
    )


class PairEnd(Struct, frozen=True):
    """What it came to, where the pair stands, what both agents spent in all runs, and how it is gone on with."""

    outcome: PairOutcome
    state: PairState
    logs: tuple[str, ...]
    dollars: float
    code: int
    again: str = "--continue"


async def run_pair_to_end(wish: PairOptions, people: PairCallbacks) -> PairEnd:
    """Run it to its end."""
    signals = SignalHandler()
    with signals.caught():
        try:
            opened = await open_pair(wish, people, env=os.environ)
        except asyncio.CancelledError:
            if not signals.settle():
                raise
            return PairEnd(
                PairOutcome("interrupted", "interrupted"), PairState(), (), 0.0, 128 + signals.came
            )
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
            return PairEnd(outcome, pair.state, logs, pair.plan.spent(), code, again)
        finally:
            await opened.close()


async def _followed(opened: OpenedPair, signals: SignalHandler) -> PairOutcome:
    def follow(agent: Agent) -> None:
        signals.agent = agent

    opened.orchestrator.follow(follow, lambda: bool(signals.came))
    try:
        return await opened.orchestrator.run()
    except asyncio.CancelledError:
        if not signals.settle():
            raise
        return PairOutcome("interrupted", "interrupted", "go on with `--continue`")


def show(end: PairEnd, *, as_json: bool) -> None:
    outcome, state = end.outcome, end.state
    if CODES.get(outcome.reason) != 0:
        say_error(outcome.sentence)
    hint((outcome.hint or _hint(outcome)).replace("--continue", end.again))
    parts = [format_count(state.iterations, "iteration"), format_count(state.turn, "turn")]
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


def _hint(outcome: PairOutcome) -> str:
    """How an end by a rule is gone on with."""
    if not outcome.ended or CODES.get(outcome.reason) == 0:
        return ""
    if outcome.reason == BLOCKED:
        return "make it possible; `--continue` goes on with another `--allow`, `--mode` or limit"
    if option := RAISED.get(outcome.reason):
        return f"`--continue {option}` goes on"
    return "`--continue --pair FILE` goes on, with other limits in its `[stop]`"


def _told(end: PairEnd) -> dict[str, Any]:
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
