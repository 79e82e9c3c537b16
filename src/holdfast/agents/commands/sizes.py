"""What takes room in a window: by part, by file and by result.

Rule: a view of the window. The parts add up to the whole, whatever of it is shown.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.errors import ContextOverflow
from holdfast.packing.folding.trigger import estimate
from holdfast.packing.pack import pack
from holdfast.packing.residency.ledger import Ledger, Row, ledger
from holdfast.packing.window import Window
from holdfast.tools.mcp.names import PREFIX


class Part(Struct, frozen=True):
    name: str
    tokens: int


class FileSize(Struct, frozen=True):
    """What the window holds of one file, over all steps that read or wrote it."""

    path: str
    tokens: int
    size: int
    steps: tuple[int, ...]
    states: tuple[str, ...]


class Sizes(Struct, frozen=True):
    """`parts` are what the next request holds, the room for its reply aside, by our count, which `counted` bounds;
    `used` is the same as far as the provider's own reports tell. `rows` are results that no file has, the largest
    first."""

    parts: tuple[Part, ...]
    used: int
    counted: int
    trigger: int
    window: int
    reply_room: int
    files: tuple[FileSize, ...]
    rows: tuple[Row, ...]
    ledger: Ledger

    @property
    def total(self) -> int:
        return sum(part.tokens for part in self.parts)


def sizes_of(window: Window) -> Sizes:
    found = ledger(window)
    profile = window.profile
    others = sorted((row for row in found.rows if not row.path), key=lambda row: -row.tokens)
    return Sizes(
        parts=tuple(part for part in _parts(window) if part.tokens),
        used=max(0, estimate(window) - profile.reply_room),
        counted=window.total(),
        trigger=profile.trigger,
        window=profile.window,
        reply_room=profile.reply_room,
        files=tuple(_files(row for row in found.rows if row.path)),
        rows=tuple(others),
        ledger=found,
    )


def _parts(window: Window) -> list[Part]:
    transcript, count = window.transcript, window.scene.counter
    pinned = [
        Part("system prompt", count.text(transcript.system)),
        *(Part(f"rules `{path}`", count.text(text)) for path, text in transcript.rules.items()),
        *(Part(f"context `{key}`", count.text(text)) for key, text in transcript.contexts.items()),
    ]
    # What messages cost besides their texts belongs to the prompt, so that the parts add up.
    rest = max(0, window.stable[1] - sum(part.tokens for part in pinned))
    pinned[0] = Part(pinned[0].name, pinned[0].tokens + rest)
    tools = _tools(window)
    try:
        packed = pack(window)
    except ContextOverflow:
        # It does not fit until a fold is made; what it takes is known all the same.
        sizes = window.fixed_tokens()
        steps = window.total() - sum(sizes.values())
        return [*pinned, *tools, Part("summary", sizes["summary"]), Part("rounds", steps)]
    layer = packed.layer
    return [
        *pinned,
        *tools,
        Part("summary", layer("summary").tokens),
        Part("earlier rounds", layer("window").tokens),
        Part("this round", layer("round").tokens),
        Part("todo recap", layer("tail").tokens),
    ]


def _tools(window: Window) -> list[Part]:
    """Our own tools, and those of MCP servers, which a person can leave out."""
    tools = window.transcript.tools
    foreign = tuple(tool for tool in tools if tool.name.startswith(PREFIX))
    own = len(tools) - len(foreign)
    taken = window.scene.counter.tools(foreign)
    return [
        Part(f"definitions of {own} tools", window.tool_tokens - taken),
        Part(f"definitions of {len(foreign)} tools of MCP servers", taken),
    ]


def _files(rows: Iterable[Row]) -> list[FileSize]:
    by_path: dict[str, list[Row]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    found = [_file(path, group) for path, group in by_path.items()]
    return sorted(found, key=lambda file: (-file.tokens, -file.size, file.path))


def _file(path: str, rows: Sequence[Row]) -> FileSize:
    shown = [row for row in rows if row.tokens] or rows
    return FileSize(
        path,
        tokens=sum(row.tokens for row in rows),
        size=sum(row.size for row in rows),
        steps=tuple(dict.fromkeys(row.step for row in shown)),
        states=tuple(dict.fromkeys(row.state for row in shown)),
    )
