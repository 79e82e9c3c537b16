"""`holdfast pair`: two agents that hand work to each other.

Rule: the outcome is the only thing on stdout; what happens on the way goes to stderr. A pair can be stopped at any
moment, and `--continue` resumes it. Without a person nothing is decided; words that agents wrote are plain text.
"""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.coding.headless import SignalHandler
from holdfast.agents.model_choice import NoModel
from holdfast.agents.notices import Notice
from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.decisions import AutoDecisions, DecisionMaker, FileDecisions
from holdfast.agents.pair.journal import BLOCKED, DONE, PairOutcome
from holdfast.agents.pair.startup import OpenedPair, PairCallbacks, PairOptions, open_pair
from holdfast.cli.event_output import describe_notice, say_no_model
from holdfast.cli.exits import EXIT_CODES
from holdfast.cli.options import (
    FILE,
    STORE,
    common_options,
    continue_option,
    effort_option,
    json_option,
    log_option,
    max_cost_option,
    model_option,
    permission_options,
)
from holdfast.cli.streams import hint, printable, say, say_error, warn, write, write_json
from holdfast.errors import InputError
from holdfast.numbers import counted
from holdfast.pair.phases import DecisionMade, DecisionRequested, PairState, describe_phase, too_long
from holdfast.pair.roles import built_in_pair, load_pair, load_stop_table
from holdfast.pair.stop_rules import MOST, MOST_DOLLARS
from holdfast.store_places import Place, files_beside

STOPPED, UNDELIVERED, UNMEASURED = 20, 21, 22
CODES = {
    **EXIT_CODES,
    "success": 0,
    DONE: 0,
    "rejected": UNDELIVERED,
    "unmeasured": UNMEASURED,
    BLOCKED: STOPPED,
}
"""Exit codes by outcome; every other outcome is a rule that stopped the pair before its target. Here `blocked`
is such a rule, and no hook."""
RAISED = {"iterations": "--max-iterations N", "cost": "--max-cost DOLLARS"}
"""Options that raise a limit; every other limit is in a file."""

EXAMPLES = """\b
Examples:
  holdfast pair refunds
  holdfast pair refunds -p "rules for refunds" --allow "Bash(make:*)"
  holdfast pair refunds --approve auto --max-iterations 5 --max-cost 10
  holdfast pair refunds --continue
  holdfast pair book --pair author_tester.toml --json

\b
Exit code 0 if the target is reached, 17 if a person must decide first, 20 if
a rule stopped the pair; docs/pair.md lists all. `--continue` resumes it."""

YES, NO = ("y", "yes"), ("n", "no", "")


class PairRunResult(Struct, frozen=True):
    """The outcome of a run, the state of the pair, its spending over all runs, and the option that resumes it."""

    outcome: PairOutcome
    state: PairState
    logs: tuple[str, ...]
    dollars: float
    code: int
    again: str = "--continue"


@click.command(epilog=EXAMPLES)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "-p", "--prompt", metavar="TEXT", default="", help="State the task (default: `task.md` in DIR)."
)
@model_option("Use this model for the first agent.", "--init-model")
@model_option("Use this model for the second agent.", "--execute-model")
@effort_option("Let the first agent think this much.", "--init-effort")
@effort_option("Let the second agent think this much.", "--execute-effort")
@click.option("--max-iterations", metavar="N", type=click.IntRange(1, MOST), help="Stop after N iterations.")
@max_cost_option("Stop before both agents spend more, over all runs.", MOST_DOLLARS)
@click.option(
    "--approve",
    type=click.Choice(("ask", "auto", "file")),
    help="Who approves a design: you (ask, the default), nobody (auto), or a file that you write.",
)
@click.option(
    "--pair",
    "pair_file",
    metavar="FILE",
    type=FILE,
    help="Use the pair in this TOML file; with `--continue`, its limits.",
)
@continue_option("Resume the newest pair of DIR.")
@log_option("Resume this pair.")
@permission_options
@json_option
@common_options
@click.pass_context
def command(ctx: click.Context, /, as_json: bool, **given: Any) -> None:
    """Let two agents work: one designs, the other builds and evaluates.

    Init writes a design, which you approve; Execute builds from it, evaluates, and reports what is wrong with the
    design. They continue until enough samples pass, or a rule stops them. The mode is `edit` without --mode.
    """
    options = make_pair_options(ctx.meta.get(STORE), given)
    callbacks = PairCallbacks(
        lambda place, log, approve: choose_approvals(approve, place, log),
        lambda phase: say(describe_phase(phase)),
        _say_notice,
    )
    try:
        ended = asyncio.run(run_pair(options, callbacks))
    except NoModel as error:
        say_no_model(_both(error.message), _both(error.found), error.hint)
        ctx.exit(error.exit_code)
    _show(ended, as_json=as_json)
    ctx.exit(ended.code)


def make_pair_options(store: Place | None, given: dict[str, Any]) -> PairOptions:
    folder: Path = given["folder"]
    resumes = given["resumes_newest"] or bool(given["log"])
    if not folder.is_dir():
        raise InputError(f"there is no folder `{folder}`", hint="name the folder in which both agents work")
    if resumes and given["prompt"]:
        raise InputError(
            "`--continue` takes the task from the log",
            hint="drop `-p`, or start a new pair without `--continue`",
        )
    of_agents = {name: given[name] for name in ("log", "mode", "allow", "sandbox", "trusts")}
    file: Path | None = given["pair_file"]
    return PairOptions(
        agent=AgentOptions(root=folder, store=store, **of_agents),
        approve=given["approve"] or "",
        pair=None if resumes else load_pair(file) if file else built_in_pair(),
        # A resumed pair may get new limits, and nothing else.
        stop=load_stop_table(file) if resumes and file else None,
        task=given["prompt"],
        models=(given["init_model"], given["execute_model"]),
        efforts=(given["init_effort"], given["execute_effort"]),
        max_iterations=given["max_iterations"],
        max_cost=given["max_cost"],
    )


def choose_approvals(approve: str, place: Place, log: str) -> DecisionMaker:
    """Who decides. Files are beside the store, where no agent writes."""
    if approve == "auto":
        return AutoDecisions()
    if approve in ("ask", ""):
        return TerminalDecisions()
    file = files_beside(place)
    return FileDecisions(file.with_name(f"{file.name}.approvals").resolve() / log)


def _both(said: str) -> str:
    """A sentence about `--model`, for two agents with an option each."""
    return said.replace("`--model`", "`--init-model` and `--execute-model`").replace(
        "--model ", "--init-model "
    )


def _say_notice(role: str, notice: Notice) -> None:
    if line := describe_notice(notice):
        say(f"  {role}: {line}")


async def run_pair(options: PairOptions, callbacks: PairCallbacks) -> PairRunResult:
    signals = SignalHandler()
    with signals.caught():
        try:
            opened = await open_pair(options, callbacks, env=os.environ)
        except asyncio.CancelledError:
            if not signals.absorb():
                raise
            outcome = PairOutcome("interrupted", "interrupted")
            return PairRunResult(outcome, PairState(), (), 0.0, 128 + signals.came)
        try:
            for one in opened.notes:
                warn(one)
            outcome = await _run_watched(opened, signals)
            code = 128 + signals.came if signals.came else CODES.get(outcome.reason, STOPPED)
            pair, log = opened.orchestrator, opened.orchestrator.journal.log.id
            logs = (log, *(f"{log}.{role.name}" for role in pair.pair.roles))
            # A pair from another machine is found by its id only: it was started in another folder.
            again = f"--log {log}" if options.agent.log else "--continue"
            return PairRunResult(outcome, pair.state, logs, pair.context.spent(), code, again)
        finally:
            await opened.close()


async def _run_watched(opened: OpenedPair, signals: SignalHandler) -> PairOutcome:
    def follow(agent: Agent) -> None:
        signals.agent = agent

    try:
        return await opened.orchestrator.run(follow, is_interrupted=lambda: bool(signals.came))
    except asyncio.CancelledError:
        if not signals.absorb():
            raise
        return PairOutcome("interrupted", "interrupted", "resume with `--continue`")


def _show(end: PairRunResult, *, as_json: bool) -> None:
    outcome, state = end.outcome, end.state
    if CODES.get(outcome.reason) != 0:
        say_error(outcome.sentence)
    hint((outcome.hint or _hint(outcome)).replace("--continue", end.again))
    parts = [counted(state.iterations, "iteration"), counted(state.turn, "turn")]
    parts += [f"${end.dollars:.4f}"] if end.dollars else []
    if end.logs:
        say(", ".join([*parts, f"log {end.logs[0]}"]))
    if as_json:
        write_json(_as_json(end))
        return
    lines = [f"{outcome.reason}: {outcome.sentence}", *(f"- {line}" for line in outcome.evidence)]
    lines += [f"- open: {one.text}" for one in state.pending.values()]
    # Agents wrote some of these words: they must not start a line or control the terminal.
    write("".join(f"{printable(line)}\n" for line in lines))


def _hint(outcome: PairOutcome) -> str:
    """How to resume a pair that a rule stopped."""
    if not outcome.ended or CODES.get(outcome.reason) == 0:
        return ""
    if outcome.reason == "unmeasured":
        return (
            "look at the work: only a design that names its evaluation is measured, and can end in `success`"
        )
    if outcome.reason == BLOCKED:
        return "make it possible, then resume with `--continue` and another `--allow`, `--mode` or limit"
    if option := RAISED.get(outcome.reason):
        return f"resume with `--continue {option}`"
    return "resume with `--continue --pair FILE`, with other limits in its `[stop]`"


def _as_json(end: PairRunResult) -> dict[str, Any]:
    shown = ("iteration", "passed", "total")
    return {
        "outcome": end.outcome.reason,
        "sentence": end.outcome.sentence,
        "evidence": end.outcome.evidence,
        "ended": end.outcome.ended,
        "iterations": [{name: getattr(one, name) for name in shown} for one in end.state.results],
        "pending": [*end.state.pending.values()],
        "dollars": end.dollars,
        "logs": end.logs,
    }


class TerminalDecisions:
    """Ask the person at the terminal; without one, nothing is decided."""

    async def decide(self, asked: DecisionRequested) -> DecisionMade | None:
        """What a person types; None at the end of the input."""
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        if asked.wants_words:
            words: str | None = ""
            while words == "":
                words = await _words(f"{asked.text}: ")
            return DecisionMade(asked.id, "say", words, by="a person") if words else None
        text = f"{asked.text} [y/N]: "
        while (typed := await _line(text)) is not None and typed.lower() not in (*YES, *NO):
            say("type y or n")
        if typed is None:
            return None
        if typed.lower() in YES:
            return DecisionMade(asked.id, "approve", by="a person")
        reason = "" if asked.about == "summary" else await _words("What must change? ")
        return None if reason is None else DecisionMade(asked.id, "reject", reason, by="a person")

    def how_to_decide(self, asked: DecisionRequested) -> str:
        others = "`--approve file`" if asked.about == "question" else "`--approve file` or `--approve auto`"
        allow = ", or with another `--allow`" if asked.about == "blocked" else ""
        return f"resume at a terminal with `--continue`, or with {others}{allow}"


async def _words(text: str) -> str | None:
    """A line that is short enough for an answer."""
    while (typed := await _line(text)) is not None and (why := too_long(typed)):
        say(why)
    return typed


async def _line(text: str) -> str | None:
    """One line, asked for on stderr; None at the end of the input."""
    sys.stderr.write(printable(text))
    sys.stderr.flush()
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), typed.set)
    line = b""
    try:
        await typed.wait()
        # A terminal gives a whole line, so this does not wait. A terminal that is gone raises an error.
        with suppress(OSError):
            line = os.read(sys.stdin.fileno(), 65_536)
    finally:
        loop.remove_reader(sys.stdin.fileno())
        if not line.endswith(b"\n"):
            say("")
    return line.decode("utf-8", "replace").strip() if line else None
