"""What a provider reported against what we count: how far our numbers can be trusted on this recording.

Rule: each report is compared with what was known before it came; the correction learns from it afterwards.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.events import AssistantReplied, BoundarySeen, Entry, SystemSet, ToolReturned, ToolsSet, UserSaid
from holdfast.messages import AssistantMessage, Message, ToolMessage, UserMessage
from holdfast.packing.counting.calibration import Calibration
from holdfast.packing.counting.tokens import TokenCounter

DROP = 0.7
"""A prompt that shrank to less than this share of the one before was cut by the agent, said or not."""


class Report(Struct, frozen=True):
    """One prompt as the provider counted it, as we count it, and as corrected by the reports before."""

    reported: int
    counted: int
    calibrated: int


class Comparison(Struct, frozen=True):
    """Median and 95th percentile of the relative errors; the first report of a talk corrects nothing yet."""

    reports: int
    last: Report
    counted_median: float
    counted_p95: float
    calibrated_median: float
    calibrated_p95: float


def compare(entries: Sequence[Entry], counter: TokenCounter) -> Comparison | None:
    """None where no reply reports its usage."""
    reports = _reports(entries, counter)
    if not reports:
        return None
    judged = reports[1:] or reports
    counted = sorted(abs(r.counted / r.reported - 1) for r in judged)
    calibrated = sorted(abs(r.calibrated / r.reported - 1) for r in judged)
    return Comparison(
        reports=len(reports),
        last=reports[-1],
        counted_median=_quantile(counted, 0.5),
        counted_p95=_quantile(counted, 0.95),
        calibrated_median=_quantile(calibrated, 0.5),
        calibrated_p95=_quantile(calibrated, 0.95),
    )


def _reports(entries: Iterable[Entry], counter: TokenCounter) -> list[Report]:
    calibration = Calibration(bound=counter.family.bound.largest or Calibration().bound)
    reports: list[Report] = []
    fixed = {"system": 0, "tools": 0}
    tokens = messages = 0
    for entry in entries:
        event = entry.event
        match event:
            case SystemSet():
                fixed["system"] = counter.text(event.text)
            case ToolsSet():
                fixed["tools"] = counter.tools(event.tools)
            case BoundarySeen() if "compact" in event.kind:
                tokens = messages = 0
            case AssistantReplied() if event.usage and event.usage.prompt:
                reported = event.usage.prompt
                if reports and reported < DROP * reports[-1].reported:
                    tokens = min(tokens, reported)
                counted = tokens + sum(fixed.values())
                estimate = calibration.estimate(counted, messages).tokens
                reports.append(Report(reported, counted, estimate))
                calibration = calibration.observe(counted, messages, reported)
            case _:
                pass
        for message in _messages(entry):
            tokens += counter.message(message)
            messages += 1
    return reports


def _messages(entry: Entry) -> list[Message]:
    event = entry.event
    match event:
        case UserSaid():
            return [UserMessage(event.parts)]
        case AssistantReplied():
            return [AssistantMessage(event.parts)]
        case ToolReturned():
            return [ToolMessage(event.call_id, event.name, event.parts, event.error)]
    return []


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
