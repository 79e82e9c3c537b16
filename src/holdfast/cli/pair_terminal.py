"""A pair at a terminal: its progress in lines on stderr, and decisions as questions to a person.

Rule: without a person nothing is decided. Words that agents wrote are shown as plain text. The event loop runs
while a question is open, so that signals are still handled.
"""

import asyncio
import os
import sys
from contextlib import suppress

from holdfast.agents.notices import Notice
from holdfast.cli.event_output import describe_notice
from holdfast.cli.streams import printable, say
from holdfast.pair.phases import DecisionMade, DecisionRequested, Phase, describe_phase, too_long

YES, NO = ("y", "yes"), ("n", "no", "")


class PairProgress:
    """A line for each phase, and an indented one for each call."""

    def tell(self, phase: Phase) -> None:
        say(describe_phase(phase))

    def watch(self, role: str, notice: Notice) -> None:
        if line := describe_notice(notice):
            say(f"  {role}: {line}")


class TerminalApprovals:
    """Ask the person at the terminal; without one, nothing is decided."""

    async def decide(self, asked: DecisionRequested) -> DecisionMade | None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        return await _ask(asked)

    def how(self, asked: DecisionRequested) -> str:
        others = "`--approve file`" if asked.about == "question" else "`--approve file` or `--approve auto`"
        allow = ", or with another `--allow`" if asked.about == "blocked" else ""
        return f"resume at a terminal with `--continue`, or with {others}{allow}"


async def _ask(asked: DecisionRequested) -> DecisionMade | None:
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
