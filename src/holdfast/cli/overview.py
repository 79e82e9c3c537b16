"""A recording at a glance, as values: rounds, tools, boundaries, side chains, and how exact our token counts are.

Rule: the numbers are those of the whole recording, nothing left out; steps are numbered as `pack --at` takes them.
What a provider reported is compared with what was known before; only then the correction learns from it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.cli.inputs import chain_names, chain_path, entry_messages, import_notes
from holdfast.events import AssistantReplied, BoundarySeen, ChainStarted, Entry, SystemSet, ToolsSet
from holdfast.log import Log
from holdfast.messages import SystemMessage, joined_text
from holdfast.packing.counting.calibration import Calibration
from holdfast.packing.counting.families import recorded_model
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.tokenizers import counter_for_model
from holdfast.views import Step, Transcript, User, path
from holdfast.views.prose import without_wrappers

DROP = 0.7
"""A prompt below this share of the one before was cut by the agent, whether it said so or not."""


class UsageReport(Struct, frozen=True):
    """One prompt as the provider counted it, as we count it, and as corrected by the reports before."""

    reported: int
    counted: int
    calibrated: int


class UsageComparison(Struct, frozen=True):
    """Median and 95th percentile of the relative errors; the first report corrects nothing yet."""

    reports: int
    last: UsageReport
    counted_median: float
    counted_p95: float
    calibrated_median: float
    calibrated_p95: float


def compare_usage(entries: Sequence[Entry], counter: TokenCounter) -> UsageComparison | None:
    """None where no reply reports its usage."""
    reports = _reports(entries, counter)
    if not reports:
        return None
    judged = reports[1:] or reports
    counted = _quantiles(r.counted / r.reported for r in judged)
    calibrated = _quantiles(r.calibrated / r.reported for r in judged)
    return UsageComparison(len(reports), reports[-1], *counted, *calibrated)


def _quantiles(ratios: Iterable[float]) -> tuple[float, float]:
    errors = sorted(abs(ratio - 1) for ratio in ratios)
    return errors[len(errors) // 2], errors[min(int(0.95 * len(errors)), len(errors) - 1)]


def _reports(entries: Iterable[Entry], counter: TokenCounter) -> list[UsageReport]:
    calibration = Calibration()
    reports: list[UsageReport] = []
    system = tools = tokens = messages = 0
    for entry in entries:
        event = entry.event
        match event:
            case SystemSet():
                system = counter.text(event.text)
            case ToolsSet():
                tools = counter.tools(event.tools)
            case BoundarySeen() if "compact" in event.kind:
                tokens = messages = 0
            case AssistantReplied() if event.usage and event.usage.prompt:
                reported = event.usage.prompt
                if reports and reported < DROP * reports[-1].reported:
                    tokens = min(tokens, reported)
                counted = tokens + system + tools
                estimate = calibration.estimate(counted, messages)
                reports.append(UsageReport(reported, counted, estimate))
                calibration = calibration.observe(counted, messages, reported)
        for message in entry_messages(entry):
            tokens += counter.message(message)
            messages += 1
    return reports


class RoundOverview(Struct, frozen=True):
    """`first` and `last` are step numbers, both 0 in a round without steps."""

    number: int
    user: str
    first: int
    last: int
    calls: dict[str, int]
    tokens: int


class ToolOverview(Struct):
    """All calls of one kind: how many, under which names, how many failed, and how many tokens they take."""

    kind: str
    names: dict[str, int]
    calls: int = 0
    errors: int = 0
    argument_tokens: int = 0
    result_tokens: int = 0


class BoundaryOverview(Struct, frozen=True):
    after_step: int
    kind: str
    trigger: str
    tokens_before: int
    summary_tokens: int


class ChainOverview(Struct, frozen=True):
    name: str
    agent: str
    title: str
    steps: int
    tokens: int


class Overview(Struct, frozen=True):
    """What there is to show of one recording. `log` is its id in the store, empty for a file."""

    log: str
    title: str
    source: str
    model: str
    usage: UsageComparison | None
    notes: list[str]
    rounds: tuple[RoundOverview, ...]
    tools: tuple[ToolOverview, ...]
    boundaries: tuple[BoundaryOverview, ...]
    chains: tuple[ChainOverview, ...]
    branches: int
    off_path: int
    fixed_tokens: int
    tokens: int
    steps: int
    repairs: tuple[str, ...]


def make_overview(
    log: Log, chain: str = "", model: str | None = None, *, is_stored: bool = False
) -> Overview:
    """The overview of a chain. Tokens are counted as `model` or the recorded one."""
    entries = log.entries()
    on_path = chain_path(entries, chain)
    model = model if model is not None else recorded_model(on_path)
    counter = counter_for_model(model)
    transcript = Transcript(on_path)
    rounds = tuple(_round(transcript, number, counter) for number in range(len(transcript.rounds)))
    pinned = (transcript.system, *transcript.rules.values(), *transcript.contexts.values())
    fixed = counter.tools(transcript.tools)
    fixed += counter.messages(SystemMessage(text) for text in pinned if text.strip())
    parents = {entry.parent for entry in entries if entry.chain == chain}
    tips = [e for e in entries if e.chain == chain and e.id not in parents and e.id != on_path[-1].id]
    head = log.info.head
    return Overview(
        log=log.id if is_stored else "",
        title=head.title,
        source=head.source,
        model=model,
        usage=compare_usage(on_path, counter),
        notes=import_notes(entries),
        rounds=rounds,
        tools=tuple(_tools(transcript, counter)),
        boundaries=tuple(_boundary(transcript, at, event, counter) for at, event in transcript.boundaries),
        chains=tuple(_chain(entries, name, counter) for name in chain_names(entries) if name != chain),
        branches=len(tips),
        off_path=sum(e.chain == chain for e in entries) - len(on_path),
        fixed_tokens=fixed,
        tokens=fixed + sum(r.tokens for r in rounds),
        steps=len(transcript.steps),
        repairs=tuple(r.detail for r in (*transcript.repairs, *transcript.unplaced.values())),
    )


def _round(transcript: Transcript, number: int, counter: TokenCounter) -> RoundOverview:
    starts = [*transcript.rounds, len(transcript.items)]
    items = transcript.items[starts[number] if number else 0 : starts[number + 1]]
    steps = [item for item in items if isinstance(item, Step)]
    said = next((joined_text(i.message.parts) for i in items if isinstance(i, User) and i.opens_round), "")
    spoken = without_wrappers(said).strip() or said
    calls = Counter(use.name for step in steps for use in step.uses.values())
    return RoundOverview(
        number=number + 1,
        user=next((line.strip() for line in spoken.split("\n") if line.strip()), ""),
        first=steps[0].number + 1 if steps else 0,
        last=steps[-1].number + 1 if steps else 0,
        calls=_by_count(calls),
        tokens=sum(_tokens(item, counter) for item in items),
    )


def _tokens(item: User | Step, counter: TokenCounter) -> int:
    answers = counter.messages(item.answers()) if isinstance(item, Step) else 0
    return counter.message(item.message) + answers


def _tools(transcript: Transcript, counter: TokenCounter) -> list[ToolOverview]:
    tools: dict[str, ToolOverview] = {}
    for step in transcript.steps:
        for answer in step.answers():
            use, call = step.uses[answer.call_id], step.calls[answer.call_id]
            tool = tools.setdefault(use.kind, ToolOverview(use.kind, {}))
            tool.names[use.name] = tool.names.get(use.name, 0) + 1
            tool.calls += 1
            tool.errors += answer.error
            tool.argument_tokens += counter.part(call)
            tool.result_tokens += counter.message(answer)
    for tool in tools.values():
        tool.names = _by_count(tool.names)
    return sorted(tools.values(), key=lambda t: (-t.result_tokens - t.argument_tokens, t.kind))


def _by_count(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _boundary(
    transcript: Transcript, at: int, event: BoundarySeen, counter: TokenCounter
) -> BoundaryOverview:
    before = [item for item in transcript.items[:at] if isinstance(item, Step)]
    return BoundaryOverview(
        after_step=before[-1].number + 1 if before else 0,
        kind=event.kind,
        trigger=event.trigger,
        tokens_before=event.tokens_before,
        summary_tokens=counter.text(event.summary),
    )


def _chain(entries: Sequence[Entry], name: str, counter: TokenCounter) -> ChainOverview:
    on_path = path(entries, chain=name)
    transcript = Transcript(on_path)
    started = next((e.event for e in on_path if isinstance(e.event, ChainStarted)), ChainStarted())
    tokens = sum(_tokens(item, counter) for item in transcript.items)
    return ChainOverview(name, started.agent, started.title, len(transcript.steps), tokens)
