"""The floor: every part that may not be cut, with its size, for the error that names them."""

from collections.abc import Callable

from holdfast.packing.window import Window
from holdfast.views.transcript import User


def floor_parts(window: Window, room: Callable[[int], int]) -> tuple[tuple[str, int], ...]:
    """(name, tokens) of the pinned parts, of user text and of steps, largest first.

    `room` gives what the item at a position takes after all that could go is gone.
    """
    count, transcript = window.scene.counter, window.transcript
    users = sum(room(i.position) for i in transcript.items if isinstance(i, User))
    parts = {
        "system prompt": count.text(transcript.system),
        "tool definitions": window.tool_tokens,
        **{f"rules {path}": count.text(text) for path, text in transcript.rules.items()},
        **{f"context {key}": count.text(text) for key, text in transcript.contexts.items()},
        "summary": count.messages(window.summary()),
        "todo recap": count.messages(window.tail()),
        "user messages": users,
        "steps": sum(room(s.position) for s in transcript.steps),
    }
    return tuple(sorted(((n, t) for n, t in parts.items() if t), key=lambda p: (-p[1], p[0])))
