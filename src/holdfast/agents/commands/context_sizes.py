"""What takes room in a window: by part, by file and by result.

Rule: it only measures. The parts add up to the whole, whatever is shown of them.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.errors import ContextOverflow
from holdfast.packing.folding.trigger import estimate_request
from holdfast.packing.pack import pack
from holdfast.packing.view import WindowView
from holdfast.packing.visibility import TextVisibility, Visibility, visibility_of
from holdfast.tools.mcp.tool_names import MCP_PREFIX


class WindowPart(Struct, frozen=True):
    name: str
    tokens: int


class FileSize(Struct, frozen=True):
    """What the window holds of one file, in all steps that read or wrote it."""

    path: str
    tokens: int
    size: int
    steps: tuple[int, ...]
    states: tuple[str, ...]


class WindowSizes(Struct, frozen=True):
    """`parts` are what the next request holds without the room for its reply, by our own count, which `counted`
    bounds. `used` is the same by the provider's reports. `rows` are results that belong to no file, the largest
    first."""

    parts: tuple[WindowPart, ...]
    used: int
    counted: int
    trigger: int
    window: int
    reply_room: int
    files: tuple[FileSize, ...]
    rows: tuple[TextVisibility, ...]
    ledger: Visibility

    @property
    def total(self) -> int:
        return sum(part.tokens for part in self.parts)


def measure_window(window: WindowView) -> WindowSizes:
    found = visibility_of(window)
    profile = window.profile
    others = sorted((row for row in found.rows if not row.path), key=lambda row: -row.tokens)
    return WindowSizes(
        parts=tuple(part for part in _parts(window) if part.tokens),
        used=max(0, estimate_request(window) - profile.reply_room),
        counted=window.total,
        trigger=profile.trigger,
        window=profile.window,
        reply_room=profile.reply_room,
        files=tuple(_files(row for row in found.rows if row.path)),
        rows=tuple(others),
        ledger=found,
    )


def _parts(window: WindowView) -> list[WindowPart]:
    transcript, count = window.transcript, window.counter
    pinned = [
        WindowPart("system prompt", count.text(transcript.system)),
        *(WindowPart(f"rules `{path}`", count.text(text)) for path, text in transcript.rules.items()),
        *(WindowPart(f"context `{key}`", count.text(text)) for key, text in transcript.contexts.items()),
    ]
    # What messages cost besides their texts belongs to the prompt, so that the parts add up.
    rest = max(0, window.stable.tokens - sum(part.tokens for part in pinned))
    pinned[0] = WindowPart(pinned[0].name, pinned[0].tokens + rest)
    tools = _tools(window)
    try:
        packed = pack(window)
    except ContextOverflow:
        # It does not fit until a fold is made; what it takes is known all the same.
        sizes = window.fixed_tokens
        steps = window.total - sum(sizes.values())
        return [*pinned, *tools, WindowPart("summary", sizes["summary"]), WindowPart("rounds", steps)]
    layer = packed.layer
    return [
        *pinned,
        *tools,
        WindowPart("summary", layer("summary").tokens),
        WindowPart("earlier rounds", layer("window").tokens),
        WindowPart("this round", layer("round").tokens),
        WindowPart("todo recap", layer("tail").tokens),
    ]


def _tools(window: WindowView) -> list[WindowPart]:
    """Our own tools, and those of MCP servers, which a person can remove."""
    tools = window.transcript.tools
    foreign = tuple(tool for tool in tools if tool.name.startswith(MCP_PREFIX))
    own = len(tools) - len(foreign)
    taken = window.counter.tools(foreign)
    return [
        WindowPart(f"definitions of {own} tools", window.stable.tool_tokens - taken),
        WindowPart(f"definitions of {len(foreign)} tools of MCP servers", taken),
    ]


def _files(rows: Iterable[TextVisibility]) -> list[FileSize]:
    by_path: dict[str, list[TextVisibility]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    found = [_file(path, group) for path, group in by_path.items()]
    return sorted(found, key=lambda file: (-file.tokens, -file.size, file.path))


def _file(path: str, rows: Sequence[TextVisibility]) -> FileSize:
    shown = [row for row in rows if row.tokens] or rows
    return FileSize(
        path,
        tokens=sum(row.tokens for row in rows),
        size=sum(row.size for row in rows),
        steps=tuple(dict.fromkeys(row.step for row in shown)),
        states=tuple(dict.fromkeys(row.state for row in shown)),
    )
