"""The ladder of levels for one text of a tool result, one long argument, one picture.

Rule: a rendition is never larger than what it stands for, and says by which id the whole is had.
"""

from msgspec import Struct

from holdfast.events import Level
from holdfast.ids import is_id, text_id
from holdfast.messages import Image, Json
from holdfast.packing.clip import clip_chars, clip_tokens, keep_lines
from holdfast.packing.digests import choose_lines, digest_json, unwrap
from holdfast.packing.marks import is_marked, mark
from holdfast.packing.profile import Profile
from holdfast.packing.tokens import TokenCounter
from holdfast.tool_use import ToolUse

SHORT = 48
"""A text of so few tokens is cheaper whole than any mark that could stand for it."""

LONG_ARGUMENT = 200
"""Characters from which a string argument has levels of its own; shorter ones identify the call."""

IMAGE_STUB = "picture left out"


class Scene(Struct, frozen=True):
    """What every rendition needs to know beside the text: the settings and how tokens are counted."""

    profile: Profile
    counter: TokenCounter


def reduce_result(scene: Scene, use: ToolUse, text: str, level: Level, cap: int, stale: str = "") -> str:
    """A result's text at a level. `stale` says why a newer result stands for this one."""
    counter = scene.counter
    size = counter.text(text)
    if level == "full" or size <= SHORT:
        return text
    if level == "clipped":
        reduced = _clip(scene, text, cap)
    elif level == "digest" and not stale and use.kind != "recall":
        if is_marked(text) and size <= (cap or size):
            return text
        reduced = _digest(scene, use, text, cap)
    else:
        reason = f", {stale}" if stale else ""
        reduced = mark(f"{use.label}: {size} tokens{reason}", source_id(use, text))
    return reduced if counter.text(reduced) < size else text


def source_id(use: ToolUse, text: str) -> str:
    """The id that brings a result back; of what Recall read, the id it was read from and not a new one."""
    return use.recalls if is_id(use.recalls) else text_id(text)


def _clip(scene: Scene, text: str, cap: int) -> str:
    profile = scene.profile
    if cap:
        return clip_tokens(text, cap, scene.counter)
    if profile.compaction_clip_chars:
        if len(text) <= profile.compaction_clip_chars:
            return text
        return clip_chars(text, profile.clip_head_chars, profile.clip_tail_chars)
    if profile.max_tool_chars and len(text) > profile.max_tool_chars:
        share = profile.max_tool_chars / len(text)
        return clip_tokens(text, int(scene.counter.text(text) * share), scene.counter)
    return clip_tokens(text, profile.first_sight_tokens, scene.counter)


def _digest(scene: Scene, use: ToolUse, text: str, cap: int) -> str:
    counter, id_ = scene.counter, text_id(text)
    room = (cap or counter.text(text)) - 24
    envelope = unwrap(text)
    if envelope is None and use.kind in ("other", "todo") and (shaped := digest_json(text, scene.profile)):
        head = mark(f"digest of {use.label}, {len(text)} characters of JSON", id_)
        return f"{head}\n{clip_tokens(shaped, max(room, 32), counter, id_=id_)}"
    facts = "\n".join(envelope.head) if envelope else ""
    body = "\n".join(envelope.payload) if envelope else text
    kept = _fitting_lines(scene, use, body, room - counter.text(facts))
    lines = body.split("\n")
    total = sum(1 for line in lines if line.strip())
    head = mark(f"digest of {use.label}, {len(kept)} of {total} lines", id_)
    if not kept and body.strip():
        return f"{head}\n{clip_tokens(text, max(room, 32), counter, id_=id_)}"
    # Lines of an envelope are ours and cannot be asked for by number.
    shown = keep_lines(lines, kept, numbered=envelope is None)
    return "\n".join(part for part in (head, facts, shown) if part)


def _fitting_lines(scene: Scene, use: ToolUse, text: str, room: int) -> list[int]:
    sizes = scene.counter.lines(text)
    kept: list[int] = []
    for number in choose_lines(use, text.split("\n"), scene.profile):
        if room >= sizes[number]:
            room -= sizes[number]
            kept.append(number)
    return kept


def reduce_arguments(scene: Scene, use: ToolUse, value: Json, level: Level) -> tuple[Json, list[str]]:
    """Arguments at a level, and the strings that were shortened; all else, and so the shape, stays."""
    if level in ("full", "clipped"):
        return value, []
    cut: list[str] = []
    return _shorten(scene, use, value, level, cut), cut


def _shorten(scene: Scene, use: ToolUse, value: Json, level: Level, cut: list[str]) -> Json:
    if isinstance(value, dict):
        return {k: _shorten(scene, use, v, level, cut) for k, v in value.items()}
    if isinstance(value, list):
        return [_shorten(scene, use, v, level, cut) for v in value]
    if not isinstance(value, str) or len(value) < LONG_ARGUMENT or is_marked(value):
        return value
    lines = value.split("\n")
    kept = _argument_lines(scene.profile, use) if level == "digest" else 1
    head = "\n".join(lines[:kept])
    if len(head) > 80 * kept:
        head = head[: 80 * kept]
    shown = f"{head}\n{mark(f'the first of {len(lines)} lines, {len(value)} characters', text_id(value))}"
    if scene.counter.text(shown) >= scene.counter.text(value):
        return value
    cut.append(value)
    return shown


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
