"""Which provider a request is for, and in which format its messages are.

Rule: a path decides, and where several providers have it, a header. Only hosts that are configured are asked.
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args
from urllib.parse import urlsplit

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.wire.content_blocks import FormatName

Wire = Literal["anthropic", "openai", "gemini"]
WIRES: tuple[Wire, ...] = get_args(Wire)

DEFAULT_UPSTREAMS: Mapping[Wire, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}

_GENERATE = re.compile(r"/v1(?:beta|alpha)?/(?:models|tunedModels)/([^/]+):(?:streamG|g)enerateContent")
_HOST = re.compile(r"^https?://[^/]+")
_VERSION = re.compile(r"/v1(?:beta|alpha)?$")


class Route(Struct, frozen=True):
    """Where a request goes. `format` is that of its messages; None where it has none that a log could hold."""

    wire: Wire
    format: FormatName | None = None


def find_route(method: str, path: str, headers: Mapping[str, str]) -> Route:
    """The route of a request. Names of headers are in lower case."""
    if method == "POST":
        if path == "/v1/messages":
            return Route("anthropic", "anthropic")
        if path.endswith("/chat/completions"):
            return Route("openai", "openai")
        if path.endswith("/responses"):
            return Route("openai", "responses")
        if _GENERATE.fullmatch(path):
            return Route("gemini", "gemini")
    if path.startswith(("/v1/messages", "/v1/complete")) or "anthropic-version" in headers:
        return Route("anthropic")
    if path.startswith(("/v1beta", "/v1alpha", "/upload/")) or "x-goog-api-key" in headers:
        return Route("gemini")
    return Route("openai")


def model_in_path(path: str) -> str:
    """The model that a path names, as Gemini's do; nothing in others."""
    found = _GENERATE.fullmatch(path)
    return found[1] if found else ""


def upstream_target(upstream: str, path: bytes, query: bytes) -> bytes:
    """What a request asks its provider for. An upstream may end in the version that the path begins with."""
    base = _HOST.sub("", upstream.rstrip("/"))
    if (version := _VERSION.search(base)) and path.startswith(version[0].encode() + b"/"):
        base = base[: version.start()]
    return base.encode() + path + (b"?" + query if query else b"")


def check_upstream(wire: Wire, address: str) -> str:
    """An address that requests may be sent to. Raises InputError for what is none."""
    if not (re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", address) and _has_legal_host(address)):
        raise InputError(
            f"`{address}` cannot be the upstream of `{wire}`",
            hint="give an address such as https://api.example.com or http://127.0.0.1:8080/v1",
        )
    return address


def _has_legal_host(address: str) -> bool:
    """Whether brackets are closed and the port, if there is one, is a number that a port may have."""
    try:
        return urlsplit(address).port != 0
    except ValueError:
        return False
