"""Keys: paths and ids that lead back to large content, so that a summary need not hold it.

Rule: a key names what it leads to. Files that can be read again are no keys, unless somebody wrote them to be kept:
plans, reports, and output that was too large to show.
"""

import re
from collections.abc import Iterator, Sequence

from holdfast.compaction.facts.calls import Call
from holdfast.compaction.facts.quoting import line_of
from holdfast.compaction.facts.requests import Said
from holdfast.compaction.facts.values import Fact
from holdfast.ids import text_id
from holdfast.messages import Text

LARGE = 3_000
"""Characters from which a result that cannot be had again is worth a key."""
MOST = 16
"""Keys that are kept, the newest."""
MOST_RESULTS = 8
"""Of them, ids of results."""

_SAVED = re.compile(
    r"(?:saved to|written to|Full output(?: saved to)?|plan file|transcript at|output-file>):?\s*"
    r"[`\"]?([~/.\w][^\s`\"<>]{2,300})"
)
_PLAN = re.compile(
    r"(?i)(?:^|/)(?:plans?|reports?|reviews?|specs?)/[^/]+\.(?:md|txt|json)$|(?:plan|handoff|report)\w*\.md$"
)


def keys(said: Sequence[Said], calls: Sequence[Call]) -> tuple[Fact, ...]:
    """Paths and ids of the range in the order of the log, each once, where it was named last."""
    results = list(_results(calls))[-MOST_RESULTS:]
    found: dict[str, Fact] = {}
    for fact in [*_in_messages(said), *sorted([*_in_calls(calls), *results], key=lambda fact: fact.step)]:
        name = fact.text.split(" ", 1)[0]
        found.pop(name, None)
        found[name] = fact
    return tuple(list(found.values())[-MOST:])


def _in_messages(said: Sequence[Said]) -> Iterator[Fact]:
    for one in said:
        for match in _SAVED.finditer(one.text):
            yield Fact(f"{match[1].rstrip('.,')} (named by the user)", (one.entry,), one.step)


def _in_calls(calls: Sequence[Call]) -> Iterator[Fact]:
    """Plans that were written, and where a tool says that it put its output."""
    for call in calls:
        if not call.outcome.is_run or call.outcome.is_failed:
            continue
        if call.use.kind == "write" and _PLAN.search(call.use.path):
            yield Fact(f"{call.use.path} (written by the agent)", (call.step.entry,), call.step.number)
        elif call.use.kind in ("bash", "other"):
            for match in _SAVED.finditer(call.text, 0, 1_000):
                text = f"{match[1].rstrip('.,')} (output of {_about(call)})"
                yield Fact(text, (call.entry,), call.step.number)


def _results(calls: Sequence[Call]) -> Iterator[Fact]:
    """Large results that no other call brings back: reports of agents, pages of the web."""
    for call in calls:
        if call.use.kind != "other" or len(call.text) < LARGE or call.outcome.is_failed:
            continue
        texts = [part.text for part in call.step.results[call.call.id].parts if isinstance(part, Text)]
        text = f"{text_id(max(texts, key=len))} ({len(call.text) // 1000}k characters: {_about(call)})"
        yield Fact(text, (call.entry,), call.step.number)


def _about(call: Call) -> str:
    """Which call it was; of a tool that is known by its name alone, what it was first told."""
    label = call.use.label
    if label == call.use.name:
        label += " " + next((v for v in call.call.arguments.values() if isinstance(v, str)), "")
    return line_of(label, 120)
