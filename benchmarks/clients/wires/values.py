"""What the provider knows of a request, and what it says back, whatever the format.

Rule: `blocks` are in the order in which a provider reads a prompt (tools, system, messages), without cache marks,
so that two requests have the same prefix if and only if their blocks begin alike.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

Body = dict[str, Any]
Section = Literal["tools", "system", "messages"]
SESSION_HEADERS = ("x-claude-code-session-id", "session-id", "session_id", "x-session-id")


class PromptBlock(Struct, frozen=True):
    """One piece of a prompt. `mark` is the life of the cache entry that is to end here: `5m`, `1h` or nothing."""

    section: Section
    data: bytes
    text: str
    mark: str = ""


class ToolResult(Struct, frozen=True):
    call: str
    text: str


class Asked(Struct, kw_only=True):
    """A request. `calls` are the ids of the calls in its history, `tools` the schemas of its functions by name;
    `last_user` is what the user said last."""

    body: Body
    model: str
    blocks: list[PromptBlock]
    system: str = ""
    tools: dict[str, Body] = {}
    calls: list[str] = []
    results: list[ToolResult] = []
    last_user: str = ""
    session: str = ""
    is_streamed: bool = False
    is_counting: bool = False
    """It asks only how many tokens this is."""
    wants_json: bool = False
    headers: Mapping[str, str] = {}


class Breach(Struct, frozen=True):
    """A rule that a request breaks, in the provider's words."""

    rule: str
    message: str
    status: int = 400


class ModelCall(Struct, frozen=True):
    id: str
    name: str
    arguments: Body


class Bill(Struct, frozen=True):
    """Tokens of one request. `prompt` includes what was read from the cache and written to it."""

    prompt: int = 0
    read: int = 0
    write: int = 0
    write_hour: int = 0
    """Of `write`, the part that is kept for an hour."""
    output: int = 0

    @property
    def plain(self) -> int:
        return self.prompt - self.read - self.write


class Said(Struct, frozen=True):
    """What the model says: a text, calls, or both."""

    number: int
    text: str = ""
    calls: tuple[ModelCall, ...] = ()


class Wire(Protocol):
    """One provider's format."""

    name: str

    def read(self, body: Body, path: str, headers: Mapping[str, str]) -> Asked: ...

    def judge(self, asked: Asked) -> list[Breach]:
        """Every rule that the request breaks."""
        ...

    def say(self, asked: Asked, said: Said) -> Any:
        """The content of a reply in this format; what must come back unchanged is remembered."""
        ...

    def whole(self, asked: Asked, content: Any, bill: Bill) -> Body: ...

    def events(self, asked: Asked, content: Any, bill: Bill) -> list[bytes]: ...

    def counted(self, bill: Bill) -> Body:
        """The answer to a request that only counts."""
        ...

    def error(self, breach: Breach) -> Body: ...

    def too_long(self, tokens: int, window: int) -> Breach: ...


def canonical(value: Any) -> bytes:
    """JSON without cache marks, and the same whatever the order of keys."""
    return msgspec.json.encode(_unmarked(value), order="sorted")


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(held) for key, held in value.items() if key != "cache_control"}
    return [_unmarked(held) for held in value] if isinstance(value, list) else value


def server_event(data: Body | str, name: str = "") -> bytes:
    said = data if isinstance(data, str) else msgspec.json.encode(data).decode()
    return f"{f'event: {name}' + chr(10) if name else ''}data: {said}\n\n".encode()


def pieces(text: str, size: int = 400) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def objects(value: Any) -> list[Body]:
    """The objects of a list; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def joined_text(content: Any) -> str:
    """The text of a content, whether it is text or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in objects(content) if isinstance(part.get("text"), str))


def named_session(headers: Mapping[str, str]) -> str:
    return next((headers[name] for name in SESSION_HEADERS if headers.get(name)), "")
