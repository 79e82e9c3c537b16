"""First sight: a very large result is reduced before it is ever sent, because that costs no cache.

Rule: by the text and its call alone, so that what was once sent stays as it was until a fold. Lines are kept byte
for byte, and a mark names the call of Recall that brings back what is missing.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from string import digits

from holdfast.ids import text_id
from holdfast.line_ranges import written_ranges
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.lines.features import (
    LineFacts,
    LineRater,
    facts_of_lines,
    is_crowd,
    rate_name,
)
from holdfast.packing.lines.line_index import MOST_ROWS_READ, SHORTEST_SCORED_NAME, outer_rows
from holdfast.packing.lines.scoring import SHORTEST_QUOTE, WEAK_SHARE
from holdfast.packing.lines.weights import WeightVectors, worth_of
from holdfast.packing.rendering.clip import MARK_TOKENS, clip_tokens, keep_lines
from holdfast.packing.rendering.marks import mark
from holdfast.packing.rendering.shorter_json import clip_json, tight_json
from holdfast.tool_use import ToolUse
from holdfast.tool_use.output import output_rows

SAID_ABOVE = 0.3
"""What is left of a name's worth in the lines after the first that holds it."""

FIRST_ROWS, LAST_ROWS = 2, 3
"""Rows that say what a text is, and how it ended."""

RARE = 0.02
"""The share of a search's matches up to which a word of trouble in them stands out; where it is searched for, or is
how the code is written, it does not."""
_TROUBLE = re.compile(
    r"(?<!\b0 )\b(?:FAIL|FAILED|FAILURE|FATAL|PANIC|ERROR)\b(?!\s*[:=]\s*0\b)|(?:Error|Exception)(?::| in | at |$)"
    r"|\b(?:[Ee]rror|[Ff]atal|[Pp]anic|[Ff]ailed|[Ff]ailure)(?:\[\w{1,9}\])?[:!]|Traceback \(most|[✗✕✘✖]"
    r"|\bnot ok\b|[Cc]ommand not found|No such file|[Pp]ermission denied|Segmentation fault"
    r"|\b[Ee]xit(?:ed)? (?:with )?(?:exit )?[Cc]ode:? [1-9]|<returncode>[1-9]"
)
_SIGNS = (
    *"FAIL FATAL PANIC ERR rror Exception atal anic ailed ailure Traceback denied fault ✗ ✕ ✘ ✖".split(),
    *("not ok", "not found", "No such", "xit code", "xit Code", "xited with", "returncode>"),
)
"""One of these is in every word of trouble: most texts, and most lines of the others, have none."""
_NO_CODE = re.compile(
    r"(?i)\.(?:md|mdx|rst|txt|adoc|csv|tsv|html?|svg|log|out|err|patch|diff)$|/(?:logs?|tmp)/[^/]*$"
)
"""Files of prose, and files that hold what a program printed."""
_WITHOUT_DIGITS = str.maketrans("", "", digits)
LOOKED_AT = 400
"""Characters of a line in which trouble is looked for."""


def _score_lines(lines: Sequence[str], use: ToolUse, weights: WeightVectors) -> list[float]:
    """For each line of a result."""
    names: dict[str, float] = {}
    rater = LineRater(weights.fixed_line, "result", use.kind, len(lines))

    def name_worth(name: str) -> float:
        if len(name) < SHORTEST_SCORED_NAME:
            return 0.0
        if name in names:
            return names[name] * SAID_ABOVE
        names[name] = worth_of(rate_name(weights.fixed_name, name, own=False))
        return names[name]

    def line_worth(row: int, line: str, facts: LineFacts) -> float:
        quote = worth_of(rater.rate(facts, line, row)) if len(facts.key) >= SHORTEST_QUOTE else 0.0
        named = sum(map(name_worth, facts.names))
        is_weak = facts.is_lone or is_crowd(line, facts.names)
        return quote + (named * WEAK_SHARE if is_weak else named)

    return [*map(line_worth, range(len(lines)), lines, facts_of_lines(lines))]


def _shows_code(use: ToolUse) -> bool:
    """Whether a result is a file, or a part of one, that is neither prose nor what a program printed."""
    return use.kind in ("read", "edit", "multiedit", "write") and not _NO_CODE.search(use.path)


def _end_rows(lines: Sequence[str], use: ToolUse) -> list[int]:
    """The first and the last rows, the outermost first, of a text that has a beginning and an end: what a search
    found just stops, and code begins with what it imports."""
    if use.kind in ("grep", "glob", "ls") or _shows_code(use):
        return []
    filled = [row for row in output_rows(lines) if lines[row].strip()]
    return [*dict.fromkeys((*filled[-1:], *filled[:FIRST_ROWS], *reversed(filled[-LAST_ROWS:])))]


def _failure_rows(lines: Sequence[str], use: ToolUse) -> list[int]:
    """The rows that say that something failed, of those that say the same but for a number the first. Weights that
    were learned know what is used again; that a run failed is seldom quoted, and still what a reader must know."""
    if _shows_code(use):
        return []
    text = "\n".join(lines)
    signs = [sign for sign in _SIGNS if sign in text]
    found: dict[str, int] = {}
    for row, line in enumerate(lines) if signs else ():
        head = line[:LOOKED_AT]
        if any(sign in head for sign in signs) and _TROUBLE.search(head):
            found.setdefault(head.translate(_WITHOUT_DIGITS), row)
    is_usual = use.kind == "grep" and len(found) > max(len(lines) * RARE, 1)
    return [] if is_usual else [*found.values()]


LENGTH_POWER = 0.5
GAP_TOKENS = 8
ENDS_SHARE, TROUBLE_SHARE = 0.25, 0.5
"""What the first and last lines may take of the room, and what those that tell of a failure may of the rest."""


def reduce_new_result(
    use: ToolUse, text: str, cap: int, counter: TokenCounter, weights: WeightVectors
) -> str:
    """The text, or as much of it as `cap` tokens hold: of JSON a smaller document, else the best lines in order."""
    size = counter.text(text)
    if size <= cap:
        return text
    if use.kind in ("other", "bash") and (document := _smaller_json(text, size, cap, counter)):
        return document
    lines = text.split("\n")
    ends, failures = _end_rows(lines, use), _failure_rows(lines, use)[:MOST_ROWS_READ]
    rows = outer_rows(output_rows(lines))
    measured = range(len(lines)) if len(lines) <= MOST_ROWS_READ else sorted({*rows, *ends, *failures})
    counts = counter.lines("\n".join(lines[at] for at in measured))
    sizes = dict(zip(measured, counts, strict=True))
    own = [lines[at] for at in rows]
    best = _ranked(own, [sizes[at] for at in rows], _score_lines(own, use, weights))
    ranked = [rows[at] for at in best]
    rank = {at: place for place, at in enumerate(ranked)}
    wanted = [
        (ends, ENDS_SHARE),
        # What a wrapper says of a failure comes first: it is about all of the output.
        (sorted(failures, key=lambda at: rank.get(at, -1)), TROUBLE_SHARE),
        (ranked, 1.0),
    ]
    room = cap - MARK_TOKENS
    for _ in range(4):
        kept = _fitting(wanted, sizes, room)
        if not kept:
            break
        reduced = f"{_head(text, len(lines), kept)}\n{keep_lines(lines, kept, _gap)}"
        excess = counter.text(reduced) - cap
        if excess <= 0:
            return reduced
        room -= excess + GAP_TOKENS
    return clip_tokens(text, cap, counter)


def _smaller_json(text: str, size: int, cap: int, counter: TokenCounter) -> str:
    """A valid document below a mark: the whole with its keys written once, or a part of it; nothing where the text
    is no JSON. A document over many lines may be edited by its lines, and is never rewritten."""
    if "\n" not in text.strip() and (tight := tight_json(text)):
        whole = f"{mark('the JSON document with keys written once', text_id(text))}\n{tight}"
        if counter.text(whole) <= cap:
            return whole
    head = mark(f"a part of a JSON document of {size} tokens, the rest left out at each …", text_id(text))
    smaller = clip_json(text, cap - counter.text(head) - 1, counter)
    if smaller is None:
        return ""
    reduced = f"{head}\n{smaller}"
    return reduced if counter.text(reduced) <= cap else ""


def _ranked(lines: Sequence[str], sizes: Sequence[int], worths: Sequence[float]) -> list[int]:
    values = [worth / (size + 3) ** LENGTH_POWER for worth, size in zip(worths, sizes, strict=True)]
    filled = (at for at, line in enumerate(lines) if line.strip())
    return sorted(filled, key=lambda at: (-values[at], at))


def _fitting(wanted: Sequence[tuple[Sequence[int], float]], sizes: Mapping[int, int], room: int) -> set[int]:
    """The lines that have room one after the other. Each group of them may fill the room up to its share."""
    kept: set[int] = set()
    taken = 0
    for group, share in wanted:
        most = taken + int((room - taken) * share)
        for at in group:
            # One that is next to no kept line opens a gap.
            cost = sizes[at] + GAP_TOKENS * (1 - (at - 1 in kept) - (at + 1 in kept))
            if at not in kept and taken + cost <= most:
                taken += cost
                kept.add(at)
    return kept


def _head(text: str, total: int, kept: Collection[int]) -> str:
    """How much is missing, and the call that brings back the first gap; the others have their numbers. It stays
    within the room for a mark, so that no line is lost to it."""
    gaps = written_ranges(number + 1 for number in range(total) if number not in kept)
    what = f"{total - len(kept)} of {total} lines left out"
    if len(gaps) > 1:
        what += ", the first gap"
    # Lines may add up to less than their text, so that none is missing yet.
    return mark(what, text_id(text), lines=gaps[0] if gaps else f"1-{total}")


def _gap(start: int, end: int) -> str:
    """The numbers under which Recall finds what is missing."""
    return f"[… lines {start + 1}-{end}]" if end - start > 1 else f"[… line {end}]"
