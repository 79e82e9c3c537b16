"""WebFetch: one page of the web as text.

Rule: what a page says is data, between two marks that the page cannot know. A page is turned into text in a process
of its own, which is killed if it takes too long.
"""

import asyncio
import codecs
import re
import sys
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tool_use.web_frame import framed
from holdfast.tools.envelope import ErrorCode, ToolError, ToolResult, tool_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.web import readable
from holdfast.tools.web.web_page import MayReach, WebLimits, WebPage, fetch_page
from holdfast.tools.workspace import Workspace

LONGEST_TEXT = 500_000
"""Characters of a page that are kept."""
READING_SECONDS = 15.0

_MEDIA = re.compile(r"\s*([\w.+-]{1,60}/[\w.+-]{1,80})(?![\w.+/-])", re.ASCII)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.ASCII | re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_TEXTUAL = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml|toml)|application/((x-)?(javascript|ecmascript|sh|yaml|toml|ndjson)"
    r"|jsonl|json-seq|sql|graphql)|message/rfc822|image/svg\+xml"
)
_HTML = ("text/html", "application/xhtml+xml")
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_REFUSED_CODECS = ("punycode", "idna", "unicode_escape", "raw_unicode_escape", "utf-7")
"""Slow ones, and one that makes lone surrogates, which cannot be stored."""


class WebFetchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    url: Annotated[str, Meta(description="Address of the page: `https://…`.")]


def web_fetch_tool(may_reach: MayReach, limits: WebLimits | None = None) -> Tool:
    work = partial(web_fetch, may_reach=may_reach, limits=limits or WebLimits())
    prompt = prompt_beside(__file__)
    return TypedTool("WebFetch", WebFetchArguments, prompt, work, is_read_only=True, ignores_unknown=True)


async def web_fetch(
    arguments: WebFetchArguments, _workspace: Workspace, *, may_reach: MayReach, limits: WebLimits
) -> ToolResult:
    page = await fetch_page(arguments.url, may_reach, limits)
    if page.elsewhere:
        return _redirected(page)
    if not 200 <= page.status < 300:
        code: ErrorCode = "NOT_FOUND" if page.status in (404, 410) else "EXECUTION_ERROR"
        raise ToolError(code, f"`{page.address.url}` answered {page.answer}")
    kind = _media_type(page)
    if kind not in _HTML and not _TEXTUAL.fullmatch(kind):
        raise ToolError(
            "BINARY_FILE",
            f"`{page.address.url}` is `{kind}` and not text",
            hint="Look for a page in HTML or text",
        )
    text, charset = decode_page(page.body, page.content_type, is_html=kind in _HTML)
    if kind in _HTML:
        text = await _readable(text, page.address.url)
    return _result(page, kind, charset, text)


def _redirected(page: WebPage) -> ToolResult:
    text = (
        f"`{page.address.url}` redirects to another site, which was not asked: {page.elsewhere}\n"
        "Call WebFetch with that address if you need it."
    )
    data: dict[str, Json] = {"url": page.address.url, "status": page.status, "redirect": page.elsewhere}
    return tool_result(text, f"redirects to {page.elsewhere}", data=data, is_partial=True)


def _result(page: WebPage, kind: str, charset: str, text: str) -> ToolResult:
    kept = text[:LONGEST_TEXT]
    notes = [f"only the first {len(page.body)} bytes were read"] if page.is_cut else []
    notes += (
        [f"only the first {LONGEST_TEXT} of {len(text)} characters are kept"] if len(text) > len(kept) else []
    )
    lines = [
        f"{page.address.url}: {page.answer}, {kind}, {len(page.body)} bytes, {len(kept)} characters of text.",
        *(f"({note})" for note in notes),
        *framed(kept),
    ]
    data: dict[str, Json] = {
        "url": page.address.url,
        "status": page.status,
        "content_type": kind,
        "charset": charset,
        "bytes": len(page.body),
        "characters": len(kept),
    }
    shown = f"{page.answer}, {kind}, {len(kept)} characters"
    return tool_result("\n".join(lines), shown, data=data, is_partial=bool(notes))


def _media_type(page: WebPage) -> str:
    """The type that the server names, or else a guess by the first bytes. What holds a zero is binary."""
    named = _MEDIA.match(page.content_type)
    kind = named[1].lower() if named else ""
    start = page.body[:1024]
    is_wide = (
        start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or "utf-16" in page.content_type.lower()
    )
    if b"\0" in start and not is_wide:
        return (
            kind
            if kind and not _TEXTUAL.fullmatch(kind) and kind not in _HTML
            else "application/octet-stream"
        )
    if kind:
        return kind
    return "text/html" if start.lstrip().lower().startswith((b"<!doctype html", b"<html")) else "text/plain"


def decode_page(body: bytes, content_type: str, *, is_html: bool = False) -> tuple[str, str]:
    """The text of a body and the name of its encoding: by its first bytes, what the server or the page
    itself says, or else UTF-8. What does not fit is replaced."""
    named = _CHARSET.search(content_type)
    inside = _META.search(body[:4096]) if is_html else None
    given = [name for start, name in _MARKS if body.startswith(start)]
    given += [named[1]] if named else []
    given += [inside[1].decode("ascii", "replace")] if inside else []
    for name in (*given, "utf-8"):
        try:
            codec = codecs.lookup(name).name
            if codec not in _REFUSED_CODECS:
                # Browsers read both as Windows-1252, and pages rely on it.
                codec = "cp1252" if codec in ("iso8859-1", "ascii") else codec
                return body.decode(codec, "replace"), codec
        except (LookupError, ValueError):
            continue
    raise AssertionError("UTF-8 takes everything")


async def _readable(page: str, url: str) -> str:
    command = (sys.executable, "-I", "-S", readable.__file__, url)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env={}
    )
    try:
        async with asyncio.timeout(READING_SECONDS):
            text, _ = await process.communicate(page.encode("utf-8", "replace"))
    except TimeoutError:
        text = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise ToolError("EXECUTION_ERROR", f"the page at `{url}` could not be turned into text")
    return text.decode("utf-8", "replace")
