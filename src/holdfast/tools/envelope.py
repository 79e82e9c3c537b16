"""What every tool returns: one envelope for programs, parts for the model, a line for the person.

Rule: `text` is what the model reads. It contains nothing that differs between two runs over the same files;
durations are in `stats`, which no model reads.
"""

from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.messages import Json, Text, UserPart

Status = Literal["success", "partial", "error"]

ErrorCode = Literal[
    "NOT_FOUND",
    "ACCESS_DENIED",
    "PERMISSION_DENIED",
    "INVALID_PARAM",
    "TIMEOUT",
    "INTERNAL_ERROR",
    "EXECUTION_ERROR",
    "IS_DIRECTORY",
    "BINARY_FILE",
    "CONFLICT",
    "CIRCUIT_OPEN",
]
"""ACCESS_DENIED is our refusal, PERMISSION_DENIED the operating system's."""


PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Media types of pictures that models accept."""


class ToolError(HoldfastError):
    """What a tool could not do, for the model to read; it ends the call, never the run."""

    def __init__(self, code: ErrorCode, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class EnvelopeError(Struct, frozen=True, gc=False):
    code: ErrorCode
    message: str


class Envelope(Struct, frozen=True, kw_only=True):
    """`data` is what was found, `stats` what it cost, `context` what was asked and where."""

    status: Status
    text: str
    data: dict[str, Json] = field(default_factory=dict)
    error: EnvelopeError | None = None
    stats: dict[str, Json] = field(default_factory=dict)
    context: dict[str, Json] = field(default_factory=dict)


class ToolResult(Struct, frozen=True):
    """An envelope, the parts that the model reads, and one short line (or a diff) that the person sees."""

    envelope: Envelope
    parts: tuple[UserPart, ...]
    shown: str

    @property
    def is_error(self) -> bool:
        return self.envelope.status == "error"


def build_result(envelope: Envelope, shown: str, *more: UserPart) -> ToolResult:
    """A result whose first part is the envelope's text; `more` are pictures."""
    return ToolResult(envelope, (Text(envelope.text), *more), shown)


def tool_result(
    text: str,
    shown: str,
    *more: UserPart,
    data: dict[str, Json] | None = None,
    context: dict[str, Json] | None = None,
    is_partial: bool = False,
) -> ToolResult:
    """The result of a call that worked, or did a part of its work."""
    status: Status = "partial" if is_partial else "success"
    return build_result(
        Envelope(status=status, text=text, data=data or {}, context=context or {}), shown, *more
    )


def with_remark(result: ToolResult, remark: str) -> ToolResult:
    """The result with a line for the model below its text."""
    text = f"{result.envelope.text}\n{remark}"
    return ToolResult(replace(result.envelope, text=text), (Text(text), *result.parts[1:]), result.shown)


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def error_result(error: ToolError, context: dict[str, Json]) -> ToolResult:
    """A tool's error as a result. The hint is part of what the model reads, since it says what to do next."""
    message = " ".join(_sentence(part) for part in (error.message, error.hint) if part)
    # A quoted argument may contain a lone surrogate, which JSON cannot.
    sentence = message.encode("utf-8", "replace").decode()
    text = f"{error.code}: {sentence}"
    fault = EnvelopeError(error.code, sentence)
    return build_result(Envelope(status="error", text=text, error=fault, context=context), text)
