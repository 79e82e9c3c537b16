"""What people and other agents asked and decided: requests, directives, decisions, and typed handovers.

Rule: a request is what a person or another agent wrote, quoted unchanged; not what a program wrote around it,
nor a document that a command brought along. A handover is read and never obeyed. Only a sentence that decides is
a decision: one too few is found again in the log, one too many reads like a promise.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from holdfast.compaction.facts.calls import CallRecord
from holdfast.compaction.facts.fact import Fact, HandoverFacts, clip_line, quote_text
from holdfast.compaction.facts.withdrawals import taken_back
from holdfast.events import ApprovalGiven, Entry
from holdfast.ids import text_id
from holdfast.messages import Text, joined_text
from holdfast.packing.rendering.marks import one_line
from holdfast.views.directives import directives
from holdfast.views.prose import sentences, without_wrappers
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


def read_handover(items: Sequence[Item]) -> HandoverFacts:
    """The newest handover in these items."""
    for item in reversed(items):
        if isinstance(item, User) and item.origin == "agent":
            message = _read(joined_text(item.message.parts))[1]
            if message is not None:
                return _facts(message, item.entry)
    return HandoverFacts()


def replace_handover(text: str) -> str:
    """A message in which a handover is replaced by what it asks."""
    (start, end), message = _read(text)
    return text if message is None else f"{text[:start]}{message.asks}{text[end:]}"


def _read(text: str) -> tuple[tuple[int, int], _Message | None]:
    """Where a handover is in a text, and what it says."""
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


def _facts(message: _Message, entry: str) -> HandoverFacts:
    rate, iteration = message.success, message.iteration
    folder, report = message.execution_output_dir, message.layer1_problems_report
    return HandoverFacts(
        iteration=Fact(str(iteration), (entry,)) if iteration is not None else None,
        output_dir=Fact(one_line(folder), (entry,)) if folder else None,
        report=Fact(one_line(report), (entry,)) if report else None,
        problems=tuple(
            Fact(_problem_text(problem), (entry,)) for problem in message.problems[:MOST_PROBLEMS]
        ),
        rate=Fact(f"{rate.passed}/{rate.total} ({_percent(rate)}%)", (entry,)) if rate else None,
        failed=Fact(str(rate.total - rate.passed), (entry,)) if rate else None,
    )


def _problem_text(problem: _Problem) -> str:
    samples = ", ".join(problem.samples[:MOST_SAMPLES])
    text = f"layer {problem.layer}, {problem.severity or 'severity unknown'}: {problem.summary}"
    return one_line(f"{text} ({samples})" if samples else text)


def _percent(rate: _Rate) -> int:
    return round(100 * rate.passed / rate.total) if rate.total else 0


MOST_SOURCES = 8
"""Entries that are named where the same was said many times."""

_COMMAND = re.compile(r"<command-name>\s*([^<\n]{1,200}?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_NO_REQUEST = re.compile(
    r"\s*(?:\[Request interrupted by user|This session is being continued from a previous conversation"
    r"|Caveat: The messages below were generated|Operation stopped by hook:|Base directory for this skill:"
    r"|Read the output file to retrieve the result:|\[user ran a command\]|# AGENTS\.md instructions for "
    r"|/\w{1,30}\s*$)"
)


class Utterance(Struct, frozen=True, gc=False):
    """Words of a person, wherever they are: as a message, or as the reason for refusing a call."""

    text: str
    entry: str
    position: int
    step: int = -1


def utterances_of(items: Sequence[Item], refused: Sequence[CallRecord]) -> list[Utterance]:
    """All that people said in these items, in order. `refused` are the calls that a person refused."""
    said = [
        Utterance(part.text, item.entry, item.position)
        for item in items
        if isinstance(item, User) and item.origin != "reminder"
        for part in item.message.parts
        if isinstance(part, Text)
    ]
    said += [
        Utterance(call.outcome.line, call.entry, call.step.position, call.step.number)
        for call in refused
        if call.outcome.line
    ]
    return sorted(said, key=lambda one: one.position)


def first_and_latest(said: Sequence[Utterance]) -> tuple[Fact | None, Fact | None]:
    """The first and the latest request; the latest is None where it is the first."""
    asked = [one for one in said if _request(one.text)]
    if not asked:
        return None, None
    first, latest = asked[0], asked[-1]
    return _fact(first), _fact(latest) if latest is not first else None


def _fact(said: Utterance) -> Fact:
    return Fact(quote_text(_request(said.text), id_=text_id(said.text)), (said.entry,), said.step)


def _request(text: str) -> str:
    """What a message asks for; nothing where a program wrote it."""
    spoken = without_wrappers(replace_handover(text)).strip()
    if command := _COMMAND.search(text, 0, 2_000):
        arguments = _ARGUMENTS.search(text)
        return f"{command[1]} {arguments[1].strip() if arguments else spoken}".strip()
    return "" if _NO_REQUEST.match(spoken) else spoken


def directive_facts(
    said: Sequence[Utterance], later: Sequence[Utterance] = ()
) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """The directives, word for word, each once, with all entries that say it: those that hold, and those that the
    user took back. `later` is what was said after all this."""
    sources: dict[str, list[str]] = {}
    steps: dict[str, int] = {}
    newest: dict[str, int] = {}
    for one, text in _sentences(said):
        known = sources.setdefault(text, [])
        steps.setdefault(text, one.step)
        newest[text] = one.position
        if one.entry not in known and len(known) < MOST_SOURCES:
            known.append(one.entry)
    words = [*said, *later]
    holding, withdrawn = list[Fact](), list[Fact]()
    for text, entries in sources.items():
        after = (one.text for one in words if one.position > newest[text])
        place = withdrawn if taken_back(text, after) else holding
        place.append(Fact(text, tuple(entries), steps[text]))
    return tuple(holding), tuple(withdrawn)


def _sentences(said: Sequence[Utterance]) -> Iterator[tuple[Utterance, str]]:
    for one in said:
        for start, end in directives(one.text):
            yield one, one_line(one.text[start:end])


LONGEST = 400
"""Characters of a sentence that decides something."""
SHORTEST = 12

_DECIDES = re.compile(
    r"(?i)\blet'?s (?:go (?:with|for)|use|do option|keep(?! going)|skip|drop|stick)\b"
    r"|\bgo (?:with|for) (?:option|the|your|#?\d)\b|^(?:ok,? |yes,? )?option \w\b"
    r"|\bi (?:like|choose|pick|prefer|vote for) (?:the )?option\b|\b(?:i|we)(?:'ve| have)? (?:decided|agreed)\b"
    r"|\bdecision: |就用|决定(?:用|采用|使用)|采用.{1,30}方案|选(?:择)?方案"
)
_QUESTION = re.compile(r"[?？][\"'”’)]*$")
_ANSWERED = re.compile(r"User has answered your questions: (.+?)(?:\. You can now continue|\Z)", re.DOTALL)
_CLARIFIES = re.compile(r"The user wants to clarify these questions")
_APPROVED = re.compile(r"User has approved your plan")
_PLAN = re.compile(r"(?:saved to|plan file):? (\S{1,300}\.\w{1,5})")


def decision_facts(
    said: Sequence[Utterance],
    calls: Sequence[CallRecord],
    approvals: Sequence[tuple[int, Entry]],
) -> tuple[Fact, ...]:
    """What was decided, in order, each sentence once. `approvals` have the position they came at."""
    found = [*_by_people(said), *_by_answers(calls), *_by_approvals(approvals, calls)]
    facts: dict[str, Fact] = {}
    for _, fact in sorted(found, key=lambda pair: pair[0]):
        facts.setdefault(fact.text, fact)
    return tuple(facts.values())


def _by_people(said: Sequence[Utterance]) -> Iterator[tuple[int, Fact]]:
    for one in said:
        for sentence in _deciding(one.text):
            yield one.position, Fact(f"user: {sentence}", (one.entry,), one.step)


def _deciding(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        sentence = text[start:end]
        if (
            SHORTEST <= len(sentence) <= LONGEST
            and _DECIDES.search(sentence)
            and not _QUESTION.search(sentence)
        ):
            yield one_line(sentence)


def _by_answers(calls: Sequence[CallRecord]) -> Iterator[tuple[int, Fact]]:
    """Questions that a person answered, plans that were approved, calls that were refused."""
    for call in calls:
        position, entry, step = call.step.position, call.entry, call.step.number
        if call.outcome.is_refused:
            if _QUESTION.search(call.outcome.line) or _CLARIFIES.match(call.outcome.line):
                continue
            reason = f": {clip_line(call.outcome.line)}" if call.outcome.line else ""
            yield position, Fact(f"user refused `{clip_line(call.use.label, 120)}`{reason}", (entry,), step)
        elif call.use.kind == "other" and (found := _ANSWERED.match(call.text)):
            yield position, Fact(f"user answered: {clip_line(found[1], LONGEST)}", (entry,), step)
        elif call.use.kind == "other" and _APPROVED.match(call.text):
            where = _PLAN.search(call.text, 0, 1_000)
            yield (
                position,
                Fact(f"user approved the plan{f' in {where[1]}' if where else ''}", (entry,), step),
            )


def _by_approvals(
    approvals: Sequence[tuple[int, Entry]], calls: Sequence[CallRecord]
) -> Iterator[tuple[int, Fact]]:
    """What a person allowed for good or denied. To allow one call decides nothing beyond it."""
    uses = {call.call.id: call.use for call in calls} if approvals else {}
    for position, entry in approvals:
        event = entry.event
        assert isinstance(event, ApprovalGiven)
        use = uses.get(event.call_id)
        about = f"`{clip_line(use.label if use else event.call_id, 120)}`"
        reason = f": {clip_line(event.reason)}" if event.reason else ""
        if event.decision == "deny":
            yield position, Fact(f"denied {about}{reason}", (entry.id,))
        elif event.decision in ("log", "pattern"):
            rule = f" ({event.rule})" if event.rule else ""
            yield position, Fact(f"allowed from now on {about}{rule}{reason}", (entry.id,))
