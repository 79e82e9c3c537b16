"""What recorded compactions kept of what was used later, and what ours keep in as many tokens.

    HOLDFAST_RECORDINGS=folder python benchmarks/recorded_compactions.py [WEIGHTS]

At every compaction that a recorder noted with its summary, four texts take the place of everything before it:

- recorded: the summary with which the agent went on, with whatever was written round it;
- rule half: `five_sections` filled by rule from the whole log. Where it is longer than the recorded summary the
  least important lines go; where it is shorter it stays so;
- folded: what `code` packs of the same messages in one fold and without a summary: notes with kept lines, users'
  words, what is left of the newest steps. Its budget is chosen so that the pack takes as many tokens. WEIGHTS is a
  file of `holdfast fit` that ranks its lines: those that ship were learned from some of these recordings;
- rule half + notes: the same pack with the rule half in it, in at most half of the tokens.

Sizes are tokens of the whole text in o200k; system prompt and tools are in none of them. What counts as an
identifier used later stands in `later_use.py`. One is kept where it stands in the text as a whole name. A path may
begin at its second to last part: what is before it is the working folder, which agents are told and recordings do
not hold; the row *whole paths* does without that.

The measure favours the recorded summary. The agent had read it before it acted: what it had kept could be used,
and what it had lost was looked up again and does not count. Nor was it all that those agents had in view: at most
boundaries the usage reported behind is thousands of tokens more than that of the first request and the summary,
and recordings do not hold what those were. pi keeps its newest messages; they are neither summed up nor looked
for. And a bare list of names would score here as well as a sentence: `holdfast replay` asks for more.

Where the recorded summary is better: names in code, most of all those that the agent itself had written in edits
(functions, fields, tests), and words of its own. The rule half names files and commands, and nothing inside a file.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from later_use import KINDS, Boundary, boundaries_in, count, names_kept, used_later
from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.check import CheckContext
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.extract import extract_facts
from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms import FORMS
from holdfast.compaction.repair import repair_summary
from holdfast.errors import ContextOverflow
from holdfast.events import Compacted, Entry
from holdfast.lab.bootstrap import Bootstrap
from holdfast.lab.policies.profile_policy import SCORED
from holdfast.lab.results import Interval
from holdfast.messages import AssistantMessage, Message, SystemMessage, joined_text
from holdfast.packing.counting.tokens import TokenCounter, compact_json
from holdfast.packing.lines.weights import Weights
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.pack import pack
from holdfast.packing.profile import CODE
from holdfast.packing.window import Window
from holdfast.recordings.recording_files import read_recordings
from holdfast.session_settings import choose_weights
from holdfast.tokenizers import load_tokenizer
from holdfast.views.transcript import Transcript

RECORDED, RULE, FOLDED, BOTH = CONTESTANTS = ("recorded", "rule half", "folded", "rule half + notes")
CLOSE, NEAR = 0.02, 0.05
"""How far a pack may fall short of its size to be taken at once, and to be called as large."""
MOST_TRIES = 10


class Compared(Struct, frozen=True):
    """What stands in each text of a boundary; `kinds` and the names in the rest are identifiers used later."""

    boundary: Boundary
    kinds: dict[str, str]
    sizes: dict[str, int]
    kept: dict[str, frozenset[str]]
    whole: dict[str, frozenset[str]]
    """Kept, paths from their beginning."""


def compare(boundary: Boundary, weights: Weights | None = None) -> Compared:
    kinds, texts = used_later(boundary), texts_of(boundary, weights)
    return Compared(
        boundary,
        kinds,
        {by: count(text) for by, text in texts.items()},
        {by: names_kept(kinds, text) for by, text in texts.items()},
        {by: names_kept(kinds, text, is_whole=True) for by, text in texts.items()},
    )


def texts_of(boundary: Boundary, weights: Weights | None) -> dict[str, str]:
    size, facts = boundary.tokens, extract_facts(Transcript(boundary.entries()))
    return {
        RECORDED: boundary.summary,
        RULE: rule_half(facts, size),
        FOLDED: folded(boundary, size, weights),
        BOTH: folded(boundary, size, weights, rule_half(facts, size // 2)),
    }


def rule_half(facts: LogFacts, most: int) -> str:
    """The state of the work by rule, in at most so many tokens."""
    form = FORMS["five_sections"]
    content = form.fill(facts, archive=False)
    if count(form.render(content)) > most:
        nothing = Evidence.of_texts(())  # The rule half names nothing that must be looked up.
        context = CheckContext.of(form, facts, nothing, archive=False)
        content = repair_summary(content, context, below=most + 1, count=count).content
    lines = form.render(content).split("\n")
    while count("\n".join(lines)) > most:
        lines.pop()  # What a repair never cuts is more than there is room for.
    return "\n".join(lines)


def folded(boundary: Boundary, most: int, weights: Weights | None, summary: str = "") -> str:
    """What `code` makes of all that was before, a summary included: the largest pack found in so many tokens."""
    entries = boundary.entries(*([Compacted("state", summary)] if summary else []))
    fitting: dict[int, str] = {}
    too_large: dict[int, str] = {}
    low, high, budget = 0.0, 0.0, most / CODE.fold_to_ratio
    for _ in range(MOST_TRIES):
        text = packed(entries, round(budget), weights)
        size = count(text)
        if text:
            (fitting if size <= most else too_large)[size] = text
        if most * (1 - CLOSE) <= size <= most:
            break
        low, high = (low, budget) if size > most else (budget, high)
        guess = budget * (most / size * (1 - CLOSE / 2) if size else 1.3)
        budget = (low + high) / 2 if low and high else guess
    return fitting[max(fitting)] if fitting else too_large[min(too_large)]


def packed(entries: Sequence[Entry], budget: int, weights: Weights | None) -> str:
    """The pack as one text; empty where the budget is too small for any."""
    # As in a replay the budget is for messages alone, and none of it is kept for the reply.
    profile = replace(CODE.scaled_to(budget), reply_tokens=0)
    window = Window(profile, TokenCounter(load_tokenizer(), SCORED), entries, weights)
    try:
        fold_if_due(window)
    except ContextOverflow:
        return ""
    return "\n".join(text for message in pack(window.view()).messages for text in said_by(message))


def said_by(message: Message) -> Iterator[str]:
    if isinstance(message, SystemMessage):
        yield message.text
        return
    yield joined_text(message.parts)
    for call in message.calls if isinstance(message, AssistantMessage) else ():
        yield f"{call.name} {call.raw or compact_json(call.arguments)}"


def report(compared: Sequence[Compared]) -> Iterator[str]:
    yield from report_projects(compared)
    yield from report_differences(compared)
    yield from report_kinds(compared)
    sizes = [(one.sizes[by], one.boundary.tokens) for one in compared for by in (FOLDED, BOTH)]
    off = sum(abs(size - wanted) > NEAR * wanted for size, wanted in sizes)
    yield f"\n{off} of {len(sizes)} packs are not within {100 * NEAR:.0f}% of their size."


def report_projects(compared: Sequence[Compared]) -> Iterator[str]:
    by_project: dict[str, list[Compared]] = {}
    for one in compared:
        by_project.setdefault(one.boundary.project, []).append(one)
    yield from table("project", "boundaries", "identifiers", "tokens", *CONTESTANTS)
    for name, of, is_whole in (
        *((f"`{name}`", of, False) for name, of in by_project.items()),
        ("all", compared, False),
        ("all, whole paths", compared, True),
    ):
        kept = [f"{share_of(of, by, is_whole=is_whole).mean:.2f}" for by in CONTESTANTS]
        tokens = grouped(mean(one.boundary.tokens for one in of))
        yield row(name, len(of), sum(len(one.kinds) for one in of), tokens, *kept)
    sizes = [grouped(mean(one.sizes[by] for one in compared)) for by in CONTESTANTS]
    yield row("tokens taken", "", "", "", *sizes)


def report_differences(compared: Sequence[Compared]) -> Iterator[str]:
    yield from table("against recorded", "difference", "95%", "more kept at", "fewer kept at")
    for by in (RULE, FOLDED, BOTH):
        found = share_of(compared, by, minus=RECORDED)
        ahead = [len(one.kept[by]) - len(one.kept[RECORDED]) for one in compared]
        signs = sum(number > 0 for number in ahead), sum(number < 0 for number in ahead)
        yield row(by, signed(found.mean), f"{signed(found.low)} to {signed(found.high)}", *signs)


def report_kinds(compared: Sequence[Compared]) -> Iterator[str]:
    yield from table("kind", "identifiers", *CONTESTANTS)
    for kind in KINDS:
        named = [(one, {n for n, k in one.kinds.items() if k == kind}) for one in compared]
        of = sum(len(names) for _, names in named)
        kept = [sum(len(one.kept[by] & names) for one, names in named) for by in CONTESTANTS]
        yield row(kind, of, *(f"{number / of:.2f}" if of else "–" for number in kept))


def share_of(compared: Sequence[Compared], by: str, *, minus: str = "", is_whole: bool = False) -> Interval:
    """The mean over boundaries of the share that is kept. Recordings are drawn, with all their boundaries."""
    sums: dict[str, float] = {}
    ones: dict[str, float] = {}
    for one in compared:
        if one.kinds:
            kept = one.whole if is_whole else one.kept
            share = (len(kept[by]) - (len(kept[minus]) if minus else 0)) / len(one.kinds)
            name = one.boundary.recording
            sums[name], ones[name] = sums.get(name, 0.0) + share, ones.get(name, 0.0) + 1
    found = Bootstrap().ratio({"": sums}, {"": ones})
    assert found is not None, "no boundary has an identifier that is used later"
    return found


def mean(values: Iterable[float]) -> float:
    known = [*values]
    return sum(known) / len(known)


def grouped(number: float) -> str:
    return f"{number:,.0f}"


def signed(number: float) -> str:
    return f"{round(number, 2) + 0.0:+.2f}"  # Adding 0 takes the sign off what rounds to -0.


def table(*cells: object) -> Iterator[str]:
    yield "\n" + row(*cells)
    yield row("---", *["---:"] * (len(cells) - 1))


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    folder = os.environ.get("HOLDFAST_RECORDINGS")
    files = sorted(Path(folder).glob("*.jsonl.gz")) if folder else []
    weights = choose_weights(sys.argv[1] if len(sys.argv) > 1 else None)
    compared = [
        compare(boundary, weights)
        for file in files
        for recording in read_recordings(file)
        for boundary in boundaries_in(recording, file.name.split(".")[0])
    ]
    if not compared:
        sys.exit("error: HOLDFAST_RECORDINGS names no folder with *.jsonl.gz files that have compactions")
    print("\n".join(report(compared)).strip())


if __name__ == "__main__":
    main()
