"""A pair for a person at a terminal: what happens, in lines on stderr, and what must be decided, as a question.

Rule: where nobody can be asked, nothing is decided. Words that agents wrote are shown as text.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from holdfast.agents.notices import FoldMade, Notice, SummaryMade
from holdfast.cli.happenings import about
from holdfast.cli.output import grouped, printable, say
from holdfast.models.protocol import Retried
from holdfast.pair.phases import Asked, Decided, Phase, said
from holdfast.tools.calling import CallFinished

LONGEST = 100


class Telling:
    """A line for each phase, and an indented one for each call."""

    def tell(self, phase: Phase) -> None:
        say(said(phase))

    def watch(self, role: str, notice: Notice) -> None:
        match notice:
            case CallFinished(call=call, result=result):
                first = (result.shown.strip().split("\n") or [""])[0]
                mark = "failed: " if result.is_error else ""
                say(f"  {role}: {' '.join(filter(None, (call.name, about(call))))} – {mark}{first[:LONGEST]}")
            case FoldMade(fold=fold):
                say(f"  {role}: folded {grouped(fold.tokens_before)} tokens to {grouped(fold.tokens_after)}")
            case SummaryMade(compaction=made):
                sizes = f"{grouped(made.tokens_before)} tokens to {grouped(made.tokens_after)}"
                say(f"  {role}: summed up {sizes}")
            case Retried(seconds=seconds, reason=reason):
                say(f"  {role}: asking again in {seconds:.0f} s: {reason}")


class AtTerminal:
    """Asks the person at the terminal; where there is none, nothing is decided."""

    async def decide(self, asked: Asked) -> Decided | None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        with _interruptible():
            return _asked(asked)

    def how(self, asked: Asked) -> str:  # noqa: ARG002 - it is the same for all
        return "go on at a terminal with `--continue`, or with `--approve file` or `--approve auto`"


def _asked(asked: Asked) -> Decided:
    if asked.about == "question":
        words = click.prompt(printable(asked.text), err=True)
        return Decided(asked.id, "say", words, by="a person")
    if click.confirm(printable(asked.text), err=True):
        return Decided(asked.id, "approve", by="a person")
    if asked.about == "summary":
        return Decided(asked.id, "reject", by="a person")
    reason = click.prompt("What must change?", err=True, default="", show_default=False)
    return Decided(asked.id, "reject", reason, by="a person")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends a question: the event loop, which has the signal else, does not run while one is asked."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
