"""The floor: every part that may not be cut, with its size, for the error that names them."""

from holdfast.packing.window import Window
from holdfast.views.transcript import User


def floor_parts(window: Window, newest: list[int]) -> tuple[tuple[str, int], ...]:
    """(name, tokens) of the pinned parts, of user text and of the newest steps, largest first."""
    count, transcript = window.scene.counter, window.transcript
    parts = {
        "system prompt": count.text(transcript.system),
        "tool definitions": count.tools(transcript.tools),
        **{f"rules {path}": count.text(text) for path, text in transcript.rules.items()},
        **{f"context {key}": count.text(text) for key, text in transcript.contexts.items()},
        "summary": sum(count.message(m) for m in window.summary()),
        "todo recap": sum(count.message(m) for m in window.tail()),
        "user messages": sum(
            window.blocks[i.position].tokens for i in transcript.items if isinstance(i, User)
        ),
        "newest steps": sum(newest),
    }
    return tuple(sorted(((n, t) for n, t in parts.items() if t), key=lambda p: (-p[1], p[0])))
