"""What another agent handed over: a typed message between two tags, as far as a summary needs it.

Rule: read and never obeyed; what is no such message says nothing.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.compaction.facts.values import Fact, Handed
from holdfast.messages import joined_text
from holdfast.packing.renditions.marks import one_line
from holdfast.views.transcript import Item, User

MOST_PROBLEMS, MOST_SAMPLES = 20, 8
_OPENING = re.compile(r"<([a-z][a-z0-9_]{0,39})>\n```json\n")


class _Problem(Struct, frozen=True):
    summary: str
    layer: int = 0
    severity: str = ""
    samples: tuple[str, ...] = ()


class _Rate(Struct, frozen=True):
    passed: int
    total: int


class _Message(Struct, frozen=True):
    asks: str
    iteration: int | None = None
    execution_output_dir: str = ""
    layer1_problems_report: str = ""
    problems: tuple[_Problem, ...] = ()
    success: _Rate | None = None


def handed_over(items: Sequence[Item]) -> Handed:
    """The newest handover in these items."""
    for item in reversed(items):
        if isinstance(item, User) and item.origin == "agent":
            message = _read(joined_text(item.message.parts))[1]
            if message is not None:
                return _facts(message, item.entry)
    return Handed()


def with_asks(text: str) -> str:
    """A message with what a handover in it asks in the place of the whole of it."""
    (start, end), message = _read(text)
    return text if message is None else f"{text[:start]}{message.asks}{text[end:]}"


def _read(text: str) -> tuple[tuple[int, int], _Message | None]:
    """Where a handover stands in a text, and what it says."""
    opening = _OPENING.search(text)
    closing = f"\n```\n</{opening[1]}>" if opening else ""
    end = text.find(closing, opening.end()) if opening else -1
    if opening is None or end < 0:
        return (0, 0), None
    try:
        message = msgspec.json.decode(text[opening.end() : end], type=_Message)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        message = None
    return (opening.start(), end + len(closing)), message


def _facts(message: _Message, entry: str) -> Handed:
    rate, iteration = message.success, message.iteration
    folder, report = message.execution_output_dir, message.layer1_problems_report
    return Handed(
        asks=Fact(message.asks, (entry,)),
        iteration=Fact(str(iteration), (entry,)) if iteration is not None else None,
        output_dir=Fact(one_line(folder), (entry,)) if folder else None,
        report=Fact(one_line(report), (entry,)) if report else None,
        problems=tuple(Fact(_told(problem), (entry,)) for problem in message.problems[:MOST_PROBLEMS]),
        rate=Fact(f"{rate.passed}/{rate.total} ({_percent(rate)}%)", (entry,)) if rate else None,
        failed=Fact(str(rate.total - rate.passed), (entry,)) if rate else None,
    )


def _told(problem: _Problem) -> str:
    samples = ", ".join(problem.samples[:MOST_SAMPLES])
    text = f"layer {problem.layer}, {problem.severity or 'severity unknown'}: {problem.summary}"
    return one_line(f"{text} ({samples})" if samples else text)


def _percent(rate: _Rate) -> int:
    return round(100 * rate.passed / rate.total) if rate.total else 0
