"""Where the beginning that two requests share ends, and why: what a cache can give back of the later one.

Rule: whole sentences for somebody who has never seen the engine. Tools come before all messages, so a change of
them ends the beginning at once.
"""

from collections.abc import Sequence

from holdfast.messages import Json, ToolDefinition
from holdfast.numbers import grouped
from holdfast.viewer.answers import first_words, message_text
from holdfast.viewer.block_changes import BlockChange
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.packs import same_start
from holdfast.viewer.sent import SentBlock
from holdfast.viewer.whereabouts import Whereabouts, note_name

AROUND = 40
"""Characters on either side of a difference that are quoted."""

CAUSES = ("fold", "compaction", "rewind", "shrunk")


def prefix_end(
    history: RequestHistory,
    numbers: tuple[int, int],
    before: Sequence[SentBlock],
    after: Sequence[SentBlock],
    changes: Sequence[BlockChange],
) -> Json:
    """How many blocks and tokens both begin with, and in `words` what comes then. `is_whole`: the later request
    begins with all of the earlier one, but for what is rebuilt each time."""
    earlier, later = (history.requests[number - 1] for number in numbers)
    # Blocks first: most are the same objects, and those need no look at their messages.
    same = same_start(before, after)
    same += same_start(*([block.message for block in blocks[same:]] for blocks in (before, after)))
    tools = tools_change(*(history.transcript(number).tools for number in numbers))
    shared = 0 if tools else earlier.layers[0] + sum(block.tokens for block in after[:same])
    if tools:
        words = [
            tools,
            "Tools come before all messages, so nothing of the later request can come from the cache.",
        ]
        if same:
            words.append(f"The messages alone would begin with the same {_blocks(same)}.")
        is_whole = False
    else:
        words, is_whole = _after_start(history, numbers, before, after, same, changes)
        words.append(f"At most {_share(shared, later.tokens)} of the later request can come from the cache.")
    return {
        "blocks": 0 if tools else same,
        "tokens": shared,
        "is_whole": is_whole,
        "words": " ".join(words),
    }


def _after_start(
    history: RequestHistory,
    numbers: tuple[int, int],
    before: Sequence[SentBlock],
    after: Sequence[SentBlock],
    same: int,
    changes: Sequence[BlockChange],
) -> tuple[list[str], bool]:
    tokens = history.requests[numbers[0] - 1].layers[0] + sum(block.tokens for block in before[:same])
    opening = f"Both begin with the same {_blocks(same)}, {grouped(tokens)} tokens with the tools."
    if not same:
        opening = "They differ from the first block on."
    grown = len(after) - same
    if same == len(before):
        if not grown:
            return [opening, "Nothing differs."], True
        return [opening, f"Nothing differs: the later one only grew at its end, by {_blocks(grown)}."], True
    if all(block.kind == "tail" for block in before[same:]):
        recap = "Then the todo recap: it is rebuilt for each request and comes last, so it is always new."
        return [opening, f"{recap} Before it, nothing differs."], True
    if same == len(after):
        gone = _blocks(len(before) - same)
        return [
            opening,
            f"There the later one ends: {gone} of the earlier one left.",
            *_cause(history, numbers, same),
        ], False
    places = Whereabouts(history, numbers[1])
    change = next((change for change in changes if change.before == same), None)
    if change is None or change.what == "moved":
        found = _came_before(places, before[same], after[same])
    elif change.what == "left":
        found = _left_words(places, before[same], after[same])
    else:
        found = _change_words(block_name(places, before[same]), before[same], after[change.after])
    return [opening, f"Then: {found}.", *_cause(history, numbers, same)], False


def _came_before(places: Whereabouts, was: SentBlock, now: SentBlock) -> str:
    if was.kind == "user" and was.position < 0:
        return f"{block_name(places, was)} was sent while tools still ran, and now comes after their results"
    return f"{block_name(places, now)} came before {block_name(places, was)}"


def _left_words(places: Whereabouts, was: SentBlock, now: SentBlock) -> str:
    name, instead = block_name(places, was), block_name(places, now)
    if was.kind == "bridge" or was.position < 0:
        return f"{name} left, and {instead} is in its place"
    place = places.of_hidden(was.position)
    if place.at >= 0 and places.blocks[place.at] is now and now.kind == "note":
        return f"what begins with {name} was replaced by {instead}"
    return f"{name} left ({place.words}), and {instead} is in its place"


def _change_words(name: str, was: SentBlock, now: SentBlock) -> str:
    if was.level != now.level:
        return f"{name} was folded from {was.level} to {now.level}"
    if was.kind == "tail":
        return f"{name} is rebuilt for each request, so it is always new"
    old, new = message_text(was.message), message_text(now.message)
    at = next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
    )
    return f"{name} changed at character {grouped(at + 1)}: {_quoted(old, at)} became {_quoted(new, at)}"


def _quoted(text: str, at: int) -> str:
    words = " ".join(text[max(at - AROUND // 2, 0) : at + AROUND].split())
    return f"“{'…' if at > AROUND // 2 else ''}{words}{'…' if at + AROUND < len(text) else ''}”"


def _cause(history: RequestHistory, numbers: tuple[int, int], same: int) -> list[str]:
    """What happened before the first request that has something else in the place after the `same` blocks."""
    for request in history.requests[numbers[0] : numbers[1]]:
        if request.same_blocks <= same:
            told = [f"{mark.kind} ({mark.text})" for mark in request.marks if mark.kind in CAUSES]
            return [f"This came with request {grouped(request.number)}: {'; '.join(told)}."] if told else []
    return []


def tools_change(before: Sequence[ToolDefinition], after: Sequence[ToolDefinition]) -> str:
    """What is different about the tools, in a sentence; empty where nothing is."""
    if tuple(before) == tuple(after):
        return ""
    old, new = ({tool.name: tool for tool in tools} for tools in (before, after))
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    changed = [name for name in new if name in old and new[name] != old[name]]
    told = [
        f"{_names(names)} {words}"
        for names, words in ((added, "added"), (removed, "taken away"), (changed, "defined differently"))
        if names
    ]
    return f"The tools changed: {', '.join(told) or 'their order is another'}."


def _names(names: Sequence[str], most: int = 5) -> str:
    more = f" and {grouped(len(names) - most)} more" if len(names) > most else ""
    return ", ".join(f"`{name[:60]}`" for name in names[:most]) + more


def block_name(places: Whereabouts, block: SentBlock) -> str:
    """A block in words, such as `step 7's result of Bash`."""
    match block.kind:
        case "system":
            return "the system prompt"
        case "rules":
            return f"the {block.name}"
        case "summary":
            return "the summary"
        case "note":
            return note_name(places.transcript, block)
        case "user":
            return f"the user's message “{first_words(block.message, 60)}”"
        case "assistant":
            return f"step {block.step}'s reply"
        case "result":
            return f"step {block.step}'s result of {block.tool or 'a tool'}"
        case "tail":
            return "the todo recap"
        case "bridge":
            return "the short message that keeps two replies apart"


def _blocks(count: int) -> str:
    return "block" if count == 1 else f"{grouped(count)} blocks"


def _share(part: int, whole: int) -> str:
    percent = round(100 * part / whole) if whole else 0
    return f"{grouped(part)} of the {grouped(whole)} tokens ({percent}%)"
