"""How wrong token counts are, against what providers reported in recordings.

    HOLDFAST_RECORDINGS=folder python benchmarks/token_error.py

Factors and overheads are fitted on the projects in `FITTED` and checked on all others; the classes and the way
of counting were chosen in sight of all of them, so the checked errors are not blind. A recording hides its
system prompt and tools, so single steps are judged by the difference between two reports, where these cancel.

Which differences count: one assistant message with its results and nothing else between the reports, no
recorded thinking (it may or may not be sent again), no compaction, no `ExitPlanMode` (its recorded plan was
never sent), at least 500 o200k tokens of new text (CJK, of which there is little: 200), for a class nine
tenths of them of that class. A difference below 0.8 or above 2.0 times its o200k count holds text that the
recording does not show (reminders, hidden thinking) or lost text; it is dropped, and the tables say how many.
"""

import gzip
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from holdfast.packing.counting.calibration import Calibration
from holdfast.packing.counting.families import (
    CLASSES,
    FAMILIES,
    ContentClass,
    Family,
    content_class,
    family_for_model,
)
from holdfast.packing.counting.tokens import TokenCounter, call_texts
from holdfast.tokenizers import load_tokenizer

FITTED = ("entireio/cli", "amazon-science/SWE-PolyBench")
NATIVE = "entireio/cli"
"""The fitted project whose calls are the provider's own; the other writes them as plain text."""

UNSENT = "ExitPlanMode"
LARGE, LARGE_CJK, SMALL = 500, 200, 150
PER_MESSAGE = FAMILIES["openai"].per_message
KEPT_RATIOS = (0.8, 2.0)
TEXTS_PER_CLASS = 400


class Recording(NamedTuple):
    project: str
    model: str
    messages: list[Message]
    usage: list[tuple[int, int]]
    breaks: list[int]


class Step(NamedTuple):
    """What came between two reports: o200k tokens by class, characters, calls and their arguments, messages,
    reported tokens."""

    project: str
    tokens: dict[ContentClass, int]
    chars: int
    calls: int
    arguments: int
    messages: int
    reported: int

    @property
    def total(self) -> int:
        return sum(self.tokens.values())

    @property
    def main_class(self) -> ContentClass | None:
        kind = max(self.tokens, key=lambda k: self.tokens[k])
        return kind if self.tokens[kind] >= 0.9 * self.total else None

    @property
    def large(self) -> bool:
        return self.total >= (LARGE_CJK if self.main_class == "cjk" else LARGE)

    @property
    def plausible(self) -> bool:
        return KEPT_RATIOS[0] <= self.reported / self.total <= KEPT_RATIOS[1]


def read_recordings(folder: Path) -> Iterator[Recording]:
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                raw = json.loads(line)
                meta = raw["meta"]
                yield Recording(
                    meta["repo"],
                    (meta.get("models") or ["unknown"])[0],
                    [_message(m) for m in raw["messages"]],
                    [(u[0], u[1]) for u in meta.get("usage") or []],
                    [e["at"] for e in meta.get("events") or [] if "at" in e],
                )


def _message(raw: dict[str, Any]) -> Message:
    text = Text(raw.get("content") or "")
    if raw["role"] == "tool":
        return ToolMessage(raw["tool_call_id"], raw.get("name", ""), (text,))
    if raw["role"] != "assistant":
        return UserMessage((text,))
    thinking: list[AssistantPart] = [Thinking(raw["reasoning"])] if raw.get("reasoning") else []
    calls = [ToolCall(c["id"], c["name"], c["arguments"]) for c in raw.get("tool_calls") or []]
    return AssistantMessage((*thinking, text, *calls))


class Overhead(NamedTuple):
    call: float
    argument: float

    def of(self, step: Step) -> float:
        return self.call * step.calls + self.argument * step.arguments + PER_MESSAGE * step.messages


def texts_of(message: Message, family: Family) -> list[str]:
    assert not isinstance(message, SystemMessage), "a recording keeps its system prompt apart"
    plain = [p.text for p in message.parts if isinstance(p, Text) and p.text]
    return plain + [t for p in message.parts if isinstance(p, ToolCall) for t in call_texts(p, family)]


def steps_of(recording: Recording, family: Family) -> Iterator[Step]:
    plain = _counter(FAMILIES["openai"])
    for (first, before), (last, after) in zip(recording.usage, recording.usage[1:], strict=False):
        new = recording.messages[first:last]
        if not new or any(first <= b <= last for b in recording.breaks) or not _is_single_step(new):
            continue
        tokens: dict[ContentClass, int] = defaultdict(int)
        texts = [t for m in new for t in texts_of(m, family)]
        for text in texts:
            tokens[content_class(text)] += plain.text(text)
        calls = [call for m in new if isinstance(m, AssistantMessage) for call in m.calls]
        arguments = sum(len(c.arguments) for c in calls)
        if tokens and calls:
            chars = sum(map(len, texts))
            yield Step(
                recording.project, dict(tokens), chars, len(calls), arguments, len(new), after - before
            )


def _is_single_step(new: list[Message]) -> bool:
    opening = new[0]
    return (
        isinstance(opening, AssistantMessage)
        and not any(isinstance(p, Thinking) for p in opening.parts)
        and all(call.name != UNSENT for call in opening.calls)
        and all(isinstance(m, ToolMessage) for m in new[1:])
    )


def quantile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("nan")


def mean_of_projects(values: list[tuple[str, float]]) -> float:
    """The mean of each project's median: a project with many recordings counts no more than another."""
    projects: dict[str, list[float]] = defaultdict(list)
    for project, value in values:
        projects[project].append(value)
    return sum(quantile(v, 0.5) for v in projects.values()) / len(projects)


def fitted(steps: list[Step], family: Family) -> tuple[dict[ContentClass, float], Overhead]:
    """Factor per class and the overhead of a call, each found with the other held, three times over. A class
    that the fitted projects lack is fitted on the others."""
    factors: dict[ContentClass, float] = dict.fromkeys(CLASSES, 1.0)
    overheads: dict[str, Overhead] = {}
    for _ in range(3):
        overheads = {
            project: _overhead(steps, project, factors, family) for project in {s.project for s in steps}
        }
        for kind in CLASSES:
            chosen = [s for s in _of_class(steps, kind) if s.project in FITTED] or _of_class(steps, kind)
            if chosen:
                factors[kind] = mean_of_projects(
                    [(s.project, _ratio(s, overheads[s.project])) for s in chosen]
                )
    return factors, overheads.get(NATIVE) or next(iter(overheads.values()))


def _overhead(
    steps: list[Step], project: str, factors: dict[ContentClass, float], family: Family
) -> Overhead:
    """From single calls with little text: what is left over, and how it grows from one argument to three."""
    left: dict[int, list[float]] = defaultdict(list)
    for step in steps:
        if step.project == project and step.calls == 1 and step.total < SMALL:
            rest = step.reported - _scaled(step, factors) - PER_MESSAGE * step.messages
            left[step.arguments].append(rest)
    if family.arguments == "json" or not (left[1] and left[3]):
        return Overhead(quantile([r for rests in left.values() for r in rests], 0.5), 0.0)
    each = (quantile(left[3], 0.5) - quantile(left[1], 0.5)) / 2
    return Overhead(quantile(left[1], 0.5) - each, each)


def _scaled(step: Step, factors: dict[ContentClass, float]) -> float:
    return sum(factors[kind] * count for kind, count in step.tokens.items())


def _ratio(step: Step, overhead: Overhead) -> float:
    return (step.reported - overhead.of(step)) / step.total


def _of_class(steps: list[Step], kind: ContentClass) -> list[Step]:
    return [s for s in steps if s.large and s.plausible and s.main_class == kind]


def table(title: str, head: str, rows: Iterable[Iterable[object]]) -> None:
    print(f"\n{title}\n")
    columns = [head.split("|"), *[[_cell(c) for c in row] for row in rows]]
    widths = [max(len(row[i]) for row in columns) for i in range(len(columns[0]))]
    for row in columns:
        print(
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
            )
        )


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def show_factors(name: str, steps: list[Step], overhead: Overhead) -> None:
    rows = []
    for kind in CLASSES:
        for project in sorted({s.project for s in steps}):
            chosen = [s for s in _of_class(steps, kind) if s.project == project]
            dropped = sum(
                s.project == project and s.large and s.main_class == kind and not s.plausible for s in steps
            )
            ratios = [_ratio(s, overhead) for s in chosen]
            if chosen:
                role = "fit" if project in FITTED else "check"
                rows.append(
                    [
                        f"{kind} {project}",
                        role,
                        len(chosen),
                        dropped,
                        *[quantile(ratios, q) for q in (0.05, 0.5, 0.95)],
                    ]
                )
    table(f"{name}: reported tokens per o200k token", "class, project|role|steps|dropped|p5|median|p95", rows)


def show_step_errors(
    name: str, steps: list[Step], factors: dict[ContentClass, float], overhead: Overhead
) -> None:
    ways: dict[str, Callable[[Step], float]] = {
        "chars/4": lambda s: s.chars / 4,
        "o200k": lambda s: s.total,
        "o200k + overheads": lambda s: s.total + overhead.of(s),
        "class factors": lambda s: _scaled(s, factors) + overhead.of(s),
    }
    rows = []
    for kind in (None, *CLASSES):
        kept = [s for s in steps if s.large and s.plausible and kind in (None, s.main_class)]
        for way, guess in ways.items():
            if kept and (kind is None or way == "class factors"):
                errors = [guess(s) / s.reported - 1 for s in kept]
                size = [abs(e) for e in errors]
                rows.append(
                    [
                        f"{way}, {kind or 'all'}",
                        len(kept),
                        quantile(size, 0.5),
                        quantile(size, 0.95),
                        quantile(errors, 0.5),
                    ]
                )
    table(f"{name}: relative error of one step's new text", "way|steps|median|p95|bias", rows)


def show_prompt_errors(name: str, recordings: list[Recording], family: Family) -> None:
    """Errors on whole prompts, predicted before each report from the reports before it."""
    errors: dict[str, list[float]] = defaultdict(list)
    for recording in recordings:
        counts = {
            "first report + chars/4": _prefix(recording, lambda m: sum(map(len, texts_of(m, family))) // 4),
            "first report + o200k": _prefix(recording, _counter(Family("plain", per_call=0)).message),
            "first report + family": _prefix(recording, _counter(family).message),
        }
        counts["last report + family"] = counts["first report + family"]
        calibration = Calibration()
        usage = _stretch(recording)
        for position, (index, reported) in enumerate(usage):
            own = counts["first report + family"][index]
            if position:
                for way, sums in counts.items():
                    at, base = usage[position - 1 if way.startswith("last") else 0]
                    errors[way].append(abs((base + sums[index] - sums[at]) / reported - 1))
                guess = calibration.estimate(own, index)
                errors["calibrated fit"].append(abs(guess / reported - 1))
            calibration = calibration.observe(own, index, reported)
    rows = [[way, len(e), quantile(e, 0.5), quantile(e, 0.95)] for way, e in errors.items()]
    table(f"{name}: relative error of the next whole prompt", "way|prompts|median|p95", rows)


def _counter(family: Family) -> TokenCounter:
    return TokenCounter(load_tokenizer(family.vocabulary), family)


def _prefix(recording: Recording, count: Callable[[Message], int]) -> list[int]:
    sums = [0]
    for message in recording.messages:
        sums.append(sums[-1] + count(message))
    return sums


def _stretch(recording: Recording) -> list[tuple[int, int]]:
    """Reports up to the first compaction, or to the first prompt that is shorter than the one before."""
    end = min(recording.breaks, default=len(recording.messages))
    kept: list[tuple[int, int]] = []
    for index, reported in recording.usage:
        if index > end or index == 0 or (kept and reported < kept[-1][1]):
            break
        kept.append((index, reported))
    return kept


def show_vocabularies(recordings: list[Recording]) -> None:
    texts: dict[ContentClass, list[str]] = defaultdict(list)
    plain = load_tokenizer()
    for recording in recordings:
        for text in (t for m in recording.messages for t in texts_of(m, FAMILIES["openai"])):
            kind = content_class(text) if 1500 <= len(text) <= 40_000 else None
            if kind and len(texts[kind]) < TEXTS_PER_CLASS and plain.count(text) >= LARGE:
                texts[kind].append(text)
    names = [f.vocabulary for f in FAMILIES.values() if f.vocabulary != "o200k_base"] + ["gemma3"]
    rows = []
    for vocabulary in dict.fromkeys(names):
        own = load_tokenizer(vocabulary)
        for kind in CLASSES:
            ratios = [own.count(t) / plain.count(t) for t in texts[kind]]
            middle = quantile(ratios, 0.5)
            spread = quantile([abs(middle / r - 1) for r in ratios], 0.95)
            rows.append(
                [
                    f"{vocabulary}, {kind}",
                    len(ratios),
                    quantile(ratios, 0.05),
                    middle,
                    quantile(ratios, 0.95),
                    spread,
                ]
            )
    table(
        "Own vocabulary per o200k token, by text",
        "vocabulary, class|texts|p5|median|p95|p95 error of median",
        rows,
    )


def show_speed(recordings: list[Recording]) -> None:
    texts = [t for r in recordings for m in r.messages for t in texts_of(m, FAMILIES["openai"])][:20_000]
    size = sum(len(t.encode("utf-8", "replace")) for t in texts) / 1e6
    rows = []
    for family in (FAMILIES["openai"], FAMILIES["claude"]):
        counter = TokenCounter(load_tokenizer(family.vocabulary), family, memory=1_000_000_000)
        for what, count in (("text", counter.text), ("lines", counter.lines)):
            new, again = _seconds(count, texts), min(_seconds(count, texts) for _ in range(3))
            rows.append([f"{family.name}, {what}", size / new, size / again, again / len(texts) * 1e6])
    table(f"Speed on {size:.1f} MB", "family|new MB/s|again MB/s|again µs a text", rows)


def _seconds(count: Callable[[str], object], texts: list[str]) -> float:
    start = perf_counter()
    for text in texts:
        count(text)
    return perf_counter() - start


def show_family(family: Family, recordings: list[Recording]) -> None:
    steps = [s for r in recordings for s in steps_of(r, family)]
    factors, overhead = fitted(steps, family)
    print(
        f"\n{family.name}: overhead of a call {overhead.call:.0f}, of an argument {overhead.argument:.0f};",
        end=" ",
    )
    print(", ".join(f"{kind} {factor:.3f}" for kind, factor in factors.items()))
    show_factors(family.name, steps, overhead)
    checked = [s for s in steps if s.project not in FITTED]
    show_step_errors(f"{family.name}, checked projects", checked, factors, overhead)
    show_prompt_errors(family.name, [r for r in recordings if r.project not in FITTED], family)


def main() -> int:
    folder = os.environ.get("HOLDFAST_RECORDINGS", "")
    if not folder or not Path(folder).is_dir():
        print("HOLDFAST_RECORDINGS names no folder with recordings.", file=sys.stderr)
        return 2
    recordings = list(read_recordings(Path(folder)))
    for name in ("claude", "openai"):
        show_family(
            FAMILIES[name], [r for r in recordings if r.usage and family_for_model(r.model).name == name]
        )
    show_vocabularies(recordings)
    show_speed(recordings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
