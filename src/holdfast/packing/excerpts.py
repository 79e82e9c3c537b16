"""Excerpts: the lines of folded steps that are worth their tokens, chosen over all and shown in their notes.

Rule: a line is shown byte for byte, under the call it came from, in its own order; a line that stands in a newer
message on view, or was superseded, is not shown again.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from holdfast.events import KeptLines
from holdfast.ids import text_id
from holdfast.messages import joined_text
from holdfast.packing.renditions import long_strings, source_id
from holdfast.packing.tokens import TokenCounter
from holdfast.packing.worth import Facts, Origin, facts_of, line_key, names_in, worth
from holdfast.views.transcript import Step

CALL, RESULT, SAID = "call", "result", "said"
GAP = "…"
LONGEST_LINE = 1500
"""Characters of a line worth quoting; of a longer one nothing is."""
MUCH = 160
"""Tokens of a result from which its id stands with it: less is not worth a second look."""
ID_TOKENS = 10
GAP_TOKENS = 2
SHORTEST = 4

Ranges = str


class Passage(Struct, frozen=True, gc=False):
    """A text of a folded step. `id` brings the whole of it back."""

    step: Step
    call: str
    part: str
    origin: Origin
    lines: list[str]
    id: str = ""
    only: frozenset[int] | None = None
    """The lines that an earlier fold kept: what it let go stays gone."""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.step.entry, self.call, self.part


class Candidate(Struct, frozen=True, gc=False):
    passage: int
    line: int
    tokens: int
    value: float


def passages_of(step: Step, superseded: Iterable[str] = ()) -> Iterator[Passage]:
    """The texts of a step: what was said, then each call with its long arguments and its result."""
    stale = set(superseded)
    if said := step.message.text.strip():
        yield Passage(step, "", SAID, "said", said.split("\n"))
    for call_id, use in step.uses.items():
        if use.kind in ("todo", "recall"):
            continue
        yield Passage(step, call_id, CALL, "call", [use.label])
        for number, text in enumerate(long_strings(step.calls[call_id].arguments)):
            yield Passage(step, call_id, str(number), "argument", text.split("\n"), text_id(text))
        result = step.results.get(call_id)
        if result is not None and call_id not in stale:
            text = joined_text(result.parts)
            yield Passage(step, call_id, RESULT, "result", text.split("\n"), source_id(use, text))


def choose(
    folded: Sequence[Passage],
    shown: Iterable[str],
    goal: frozenset[str],
    room: int,
    counter: TokenCounter,
) -> list[KeptLines]:
    """The best lines that `room` tokens hold. `folded` are passages, oldest first; `shown` texts still on view."""
    if room <= 0 or not folded:
        return []
    seen = {line_key(line) for text in shown for line in text.split("\n")}
    found = _candidates(folded, seen, goal, counter)
    labels = {p.call: counter.text(p.lines[0]) + ID_TOKENS for p in folded if p.part == CALL}
    taken: dict[int, list[int]] = {}
    opened: set[str] = set()
    for candidate in sorted(found, key=lambda c: (-c.value, c.passage, c.line)):
        passage = folded[candidate.passage]
        # Whatever is shown of a call stands below its label, and next to a gap.
        head = 0 if passage.call in opened or not passage.call else labels.get(passage.call, 0)
        cost = head + (0 if passage.part == CALL else candidate.tokens + GAP_TOKENS)
        if cost > room:
            continue
        room -= cost
        opened.add(passage.call)
        taken.setdefault(candidate.passage, []).append(candidate.line)
    return [KeptLines(*folded[at].place, _ranges(lines)) for at, lines in sorted(taken.items())]


def _candidates(
    folded: Sequence[Passage],
    seen: set[str],
    goal: frozenset[str],
    counter: TokenCounter,
) -> list[Candidate]:
    """Every line once, the newest time it stands, with its worth."""
    lines: list[tuple[int, int, Facts, int]] = []
    counts: dict[str, int] = {}
    for at in range(len(folded) - 1, -1, -1):
        passage = folded[at]
        sizes = counter.lines("\n".join(passage.lines))
        for number, line in enumerate(passage.lines):
            if len(line) > LONGEST_LINE or (passage.only is not None and number not in passage.only):
                continue
            fact = facts_of(line)
            if len(fact.key) < SHORTEST or fact.key in seen:
                continue
            seen.add(fact.key)
            for name in fact.names:
                counts[name] = counts.get(name, 0) + 1
            lines.append((at, number, fact, sizes[number]))
    oldest = folded[0].step.number
    span = max(folded[-1].step.number - oldest, 1)
    return [
        Candidate(
            at,
            number,
            tokens,
            worth(
                fact,
                folded[at].origin,
                1 - (folded[at].step.number - oldest) / span,
                tokens,
                goal,
                sum(counts[name] ** -0.5 for name in fact.names),
            ),
        )
        for at, number, fact, tokens in lines
    ]


def goal_names(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(name for text in texts for name in names_in(text))


def render(
    kept: Sequence[KeptLines], passages: dict[tuple[str, str, str], Passage], counter: TokenCounter
) -> str:
    """The kept lines below the calls they came from."""
    out: list[str] = []
    call = ""
    for lines in kept:
        passage = passages.get((lines.step, lines.call, lines.part))
        if passage is None:
            continue
        if lines.call and lines.call != call:
            call = lines.call
            out.append(_heading(passages, lines, counter))
        if lines.part != CALL:
            out += _quoted(passage.lines, numbers_in(lines.lines))
    return "\n".join(out)


def _heading(passages: dict[tuple[str, str, str], Passage], lines: KeptLines, counter: TokenCounter) -> str:
    """What the call was, and the id of its result where there is much more of it."""
    label = passages.get((lines.step, lines.call, CALL))
    result = passages.get((lines.step, lines.call, RESULT))
    text = label.lines[0] if label else ""
    if result and counter.text("\n".join(result.lines)) > MUCH:
        return f"# {text} [{result.id}]"
    return f"# {text}"


def _quoted(lines: Sequence[str], numbers: Iterable[int]) -> Iterator[str]:
    """The lines in order; where some are missing, a gap says so."""
    expected = 0
    for number in numbers:
        if number >= len(lines):
            return
        if number > expected:
            yield GAP
        yield lines[number]
        expected = number + 1
    if expected < len(lines):
        yield GAP


def _ranges(numbers: Iterable[int]) -> Ranges:
    out: list[str] = []
    start = end = -2
    for number in (*sorted(numbers), -1):
        if number == end + 1:
            end = number
            continue
        if start >= 0:
            out.append(str(start) if start == end else f"{start}-{end}")
        start = end = number
    return ",".join(out)


def numbers_in(ranges: Ranges) -> list[int]:
    """The numbers of ranges such as `0-4,9`; nothing of what is no range."""
    numbers: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            numbers += range(int(first), int(last or first) + 1)
    return numbers
