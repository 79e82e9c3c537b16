"""The ladder of levels for one text of a tool result, one long argument, one picture.

Rule: a rendition is never larger than its text, and names the id that brings the whole back.
"""

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from holdfast.events import Level
from holdfast.ids import is_id, text_id
from holdfast.line_ranges import LineRange
from holdfast.messages import Image, Json
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.lines.weights import WeightVectors, built_in_vectors
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.clip import (
    GAP,
    LineChoice,
    clip_chars,
    clip_tokens,
    fit_lines,
    keep_lines,
    recall_gap,
)
from holdfast.packing.rendering.digests import choose, digest_json
from holdfast.packing.rendering.marks import mark, marked_as, one_line
from holdfast.tool_use import ToolUse

SHORT = 48
"""A text of so few tokens is cheaper whole than any mark in its place."""

LONG_ARGUMENT = 200
"""Characters from which a string argument has levels of its own; shorter ones identify the call."""

ARGUMENT = "the first"
"""How the mark of a shortened argument begins."""

LINE = 80
"""Characters that count as one line of a shortened argument, however long its lines are."""

LEAST_SHOWN = 32
"""Tokens of content in a digest whose mark alone fills its cap."""

NO_LIMIT = 1 << 40

REST = "[… the rest of this digest left out]"

IMAGE_STUB = "picture left out"


class RenderContext(Struct, frozen=True):
    """What every rendition needs to know beside the text: the settings, how tokens are counted, and what lines are
    worth where it is not what the profile names."""

    profile: Profile
    counter: TokenCounter
    weights: WeightVectors | None = None

    @property
    def weight_vectors(self) -> WeightVectors:
        return self.weights or built_in_vectors(self.profile.worth)


def reduce_result(
    context: RenderContext,
    use: ToolUse,
    text: str,
    level: Level,
    cap: int,
    stale: str = "",
    *,
    state: str = "",
    stderr: Sequence[LineRange] | None = None,
) -> str:
    """A result's text at a level. `stale` says why a newer result replaces this one; `state` is what a reader
    must know of it besides, such as that it failed. `stderr` are the lines that a command wrote there, if known."""
    counter = context.counter
    size = counter.text(text)
    if level == "full" or size <= SHORT or marked_as(text):
        return text
    if level == "clipped":
        reduced = _clip(context, text, cap)
    elif level == "digest" and not stale and use.kind != "recall":
        reduced = text
        if not _is_digest(use, text):
            choice = choose(use, text, context.profile, stderr)
            reduced = _digest(context, use, text, choice, cap, state)
    else:
        reason = f", {stale}" if stale else ""
        reduced = mark(f"{use.label}: {size} tokens{_also(state)}{reason}", source_id(use, text))
    return reduced if counter.text(reduced) < size else text


def _also(state: str) -> str:
    return f", {state}" if state else ""


def source_id(use: ToolUse, text: str) -> str:
    """The id that brings a result back; of what Recall read, the id it was read from and not a new one."""
    return use.recalls if is_id(use.recalls) else text_id(text)


def _clip(context: RenderContext, text: str, cap: int) -> str:
    profile = context.profile
    if cap:
        return clip_tokens(text, cap, context.counter)
    if profile.compaction_clip_chars:
        if len(text) <= profile.compaction_clip_chars:
            return text
        return clip_chars(text, profile.clip_head_chars, profile.clip_tail_chars, counter=context.counter)
    return clip_tokens(text, profile.first_sight_tokens, context.counter)


def clip_new_result(context: RenderContext, text: str) -> str:
    """Head and tail of a result longer than `max_tool_chars`, with as many tokens as so many characters take."""
    most, size = context.profile.max_tool_chars, context.counter.text(text)
    if len(text) <= most or size <= SHORT or marked_as(text):
        return text
    clipped = clip_tokens(text, size * most // len(text), context.counter)
    return clipped if context.counter.text(clipped) < size else text


def _is_digest(use: ToolUse, text: str) -> bool:
    """Whether a text is the digest of this call already: a digest of it would have an id that leads to less."""
    return marked_as(text.split("\n", 1)[0]).startswith(one_line(f"digest of {use.label},"))


def _digest(context: RenderContext, use: ToolUse, text: str, choice: LineChoice, cap: int, state: str) -> str:
    what, id_ = f"digest of {use.label}{_also(state)}", text_id(text)
    if not choice.facts and use.kind in ("other", "todo") and (shaped := digest_json(text, context.profile)):
        head = mark(f"{what}, {len(text)} characters of JSON", id_)
        return _fitted(context, head, cap, lambda room: f"{head}\n{_start(context.counter, shaped, room)}")
    sizes = context.counter.lines("\n".join(choice.lines))
    gap = context.counter.text(GAP)

    def headed(kept: Collection[int]) -> str:
        shown, total = choice.count(kept)
        return mark(f"{what}, {shown} of {total} lines", id_)

    def compose(room: int) -> str:
        lines, kept = fit_lines(choice, sizes, room, gap)
        # Lines of an envelope are none that Recall counts.
        gap_mark = _count_gap if choice.facts else recall_gap
        return f"{headed(kept)}\n{keep_lines(lines, kept, gap_mark)}"

    return _fitted(context, headed(()), cap, compose)


def _count_gap(start: int, end: int) -> str:
    return f"[… {end - start} more]"


def _fitted(context: RenderContext, head: str, cap: int, compose: Callable[[int], str]) -> str:
    """What `compose` makes of the room that a cap leaves beside the mark; a cap too small for both gives way."""
    if not cap:
        return compose(NO_LIMIT)
    used = context.counter.text(head) + 1
    limit = max(cap, used + LEAST_SHOWN)
    room = limit - used
    for _ in range(4):
        shown = compose(room)
        # Chosen lines may be of another content class than their text, and count more than they did in it.
        excess = context.counter.text(shown) - limit
        if excess <= 0:
            return shown
        room -= excess + 2
    return head


def _start(counter: TokenCounter, shaped: str, room: int) -> str:
    """The start of a JSON digest. It is no text that is stored, so what is missing of it has no numbers."""
    size = counter.text(shaped)
    if size <= room:
        return shaped
    share = max(room - counter.text(REST), 0) / size
    return f"{shaped[: int(len(shaped) * share)]}\n{REST}"


def reduce_arguments(
    context: RenderContext, use: ToolUse, value: Json, level: Level
) -> tuple[Json, list[tuple[str, str]]]:
    """Arguments at a level, and the strings that were shortened with what is shown of each; the shape stays."""
    if level in ("full", "clipped"):
        return value, []
    cut: list[tuple[str, str]] = []
    return _shorten(context, use, value, level, cut), cut


def _shorten(
    context: RenderContext, use: ToolUse, value: Json, level: Level, cut: list[tuple[str, str]]
) -> Json:
    if isinstance(value, dict):
        return {k: _shorten(context, use, v, level, cut) for k, v in value.items()}
    if isinstance(value, list):
        return [_shorten(context, use, v, level, cut) for v in value]
    if not isinstance(value, str) or len(value) < LONG_ARGUMENT:
        return value
    most = _argument_lines(context.profile, use)
    if _is_shortened(value, max(most, 1)):
        return value
    shown = _shortened(value, most if level == "digest" else min(most, 1))
    if context.counter.text(shown) >= context.counter.text(value):
        return value
    cut.append((value, shown))
    return shown


def _shortened(value: str, most: int) -> str:
    """The first lines of an argument, or of very long lines the first characters, and what the whole is."""
    lines = value.split("\n")
    head = "\n".join(lines[:most])
    whole = f"{len(lines)} lines, {len(value)} characters"
    shown = f"{min(most, len(lines))} of {whole}"
    if len(head) > LINE * most:
        head = head[: LINE * most]
        shown = f"{len(head)} characters of {whole}"
    return "\n".join([*([head] if most else []), mark(f"{ARGUMENT} {shown}", text_id(value))])


def _is_shortened(value: str, most: int) -> bool:
    """Whether an argument is what `_shortened` leaves; a long text that only ends so is not."""
    head, _, last = value.rpartition("\n")
    return len(head) <= LINE * most and marked_as(last).startswith(ARGUMENT)


def long_strings(value: Json) -> list[str]:
    """The strings of a call's arguments that are long enough to be stored as texts of their own."""
    if isinstance(value, str):
        return [value] if len(value) >= LONG_ARGUMENT else []
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in long_strings(item)]


def _argument_lines(profile: Profile, use: ToolUse) -> int:
    return profile.write_diff_lines if use.kind == "write" else profile.edit_diff_lines


def image_mark(image: Image) -> str:
    size = f"{len(image.data) * 3 // 4} bytes" if image.data else "by address"
    source = image.data or image.url
    return mark(f"{IMAGE_STUB}, {image.media_type}, {size}", text_id(source))
