"""A pair for a person at a terminal: what happens, in lines on stderr, and what must be decided, as a question.

Rule: where nobody can be asked, nothing is decided. Words that agents wrote are shown as text. While a question
stands the event loop runs, so that whatever ends the process is heard.
"""

import asyncio
import os
import sys
from contextlib import suppress

from holdfast.agents.notices import FoldMade, Notice, SummaryMade
from holdfast.cli.event_output import describe_arguments
from holdfast.cli.streams import format_number, printable, say
from holdfast.models.model import RetryScheduled
from holdfast.pair.phases import DecisionMade, DecisionRequested, Phase, describe_phase, too_long
from holdfast.tools.call import CallFinished

LONGEST = 100
YES, NO = ("y", "yes"), ("n", "no", "")


class PairProgress:
    """A line for each phase, and an indented one for each call."""

    def tell(self, phase: Phase) -> None:
        say(describe_phase(phase))

    def watch(self, role: str, notice: Notice) -> None:
        match notice:
            case CallFinished(call=call, result=result):
                first = (result.shown.strip().split("\n") or [""])[0]
                mark = "failed: " if result.is_error else ""
                say(
                    f"  {role}: {' '.join(filter(None, (call.name, describe_arguments(call))))} – {mark}{first[:LONGEST]}"
                )
            case FoldMade(fold=fold):
                say(
                    f"  {role}: folded {format_number(fold.tokens_before)} tokens to {format_number(fold.tokens_after)}"
                )
            case SummaryMade(compaction=made):
                sizes = f"{format_number(made.tokens_before)} tokens to {format_number(made.tokens_after)}"
                say(f"  {role}: summed up {sizes}")
            case RetryScheduled(seconds=seconds, reason=reason):
                say(f"  {role}: asking again in {seconds:.0f} s: {reason}")


class TerminalApprovals:
    """Asks the person at the terminal; where there is none, nothing is decided."""

    async def decide(self, asked: DecisionRequested) -> DecisionMade | None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        return await _asked(asked)

    def how(self, asked: DecisionRequested) -> str:
        others = "`--approve file`" if asked.about == "question" else "`--approve file` or `--approve auto`"
        allow = ", or with another `--allow`" if asked.about == "blocked" else ""
        return f"go on at a terminal with `--continue`, or with {others}{allow}"


async def _asked(asked: DecisionRequested) -> DecisionMade | None:
    """What a person types; None at the end of the input."""
    if asked.wants_words:
        words: str | None = ""
        while words == "":
            words = await _words(f"{asked.text}: ")
        return DecisionMade(asked.id, "say", words, by="a person") if words else None
    answer = await _choice(f"{asked.text} [y/N]: ")
    if answer is None or answer:
        return DecisionMade(asked.id, "approve", by="a person") if answer else None
    if asked.about == "summary":
        return DecisionMade(asked.id, "reject", by="a person")
    reason = await _words("What must change? ")
    return None if reason is None else DecisionMade(asked.id, "reject", reason, by="a person")


async def _choice(text: str) -> bool | None:
    while (typed := await _line(text)) is not None:
        if typed.lower() in (*YES, *NO):
            return typed.lower() in YES
        say("type y or n")
    return None


async def _words(text: str) -> str | None:
    """A line that is not too long for an answer."""
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
        # A terminal gives one whole line, so that this does not wait. One that is gone gives an error.
        with suppress(OSError):
            line = os.read(sys.stdin.fileno(), 65_536)
    finally:
        loop.remove_reader(sys.stdin.fileno())
        if not line.endswith(b"\n"):
            say("")
    return line.decode("utf-8", "replace").strip() if line else None
