"""What a person sends from an editor: blocks of text, links, attachments and pictures, as one message.

Rule: what is attached is data and is said apart from the person's words, so that an `@` in it mentions nothing. A
file that is only linked is mentioned, and read with the tools.
"""

import base64
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)
from msgspec import Struct

from holdfast.agents.attachments import MOST_PICTURES
from holdfast.errors import InputError
from holdfast.messages import Image
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.special_files import check_picture, check_picture_bytes, media_type

PromptBlock = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

_LINES = re.compile(r"L?(\d+)(?:[-:]L?(\d+))?$")


class EditorPrompt(Struct, frozen=True):
    """`attached` are texts that come with it."""

    text: str
    attached: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()


def read_prompt(blocks: Iterable[PromptBlock], root: str, *, takes_images: bool = False) -> EditorPrompt:
    """Raises InputError for what the model cannot be sent: once in the session, it would be in every request."""
    words: list[str] = []
    attached: list[str] = []
    images: list[Image] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                words.append(text)
            case ResourceContentBlock(uri=uri):
                words.append(mention(uri, root))
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                words.append(f"`{_short(uri, root)}`")
                attached.append(f'<attachment uri="{uri}">\n{text}\n</attachment>')
            case EmbeddedResourceContentBlock(resource=BlobResourceContents(blob=blob)):
                images.append(_picture(blob))
            case ImageContentBlock(data=data):
                images.append(_picture(data))
            case AudioContentBlock():
                raise InputError("sound cannot be sent to a model", hint="write it down, or leave it out")
    if images and not takes_images:
        raise InputError(
            "the model takes no pictures",
            hint="choose another, or set `images = true` for it in `holdfast.toml` if it does",
        )
    if len(images) > MOST_PICTURES:
        raise InputError(f"{len(images)} pictures are attached", hint=f"attach {MOST_PICTURES} at most")
    said = EditorPrompt("".join(words), tuple(attached), tuple(images))
    if not (said.text.strip() or attached or images):
        raise InputError("the prompt is empty", hint="write what to do")
    return said


def mention(uri: str, root: str) -> str:
    """A linked file as a mention of it; any other link as it is."""
    path = _path(uri, root)
    if not path or '"' in path or "\n" in path:
        return uri
    lines = _LINES.match(urlsplit(uri).fragment)
    first, last = (lines[1], lines[2] or lines[1]) if lines else ("", "")
    return f'@"{path}"' + (f":{first}-{last}" if first else "")


def _short(uri: str, root: str) -> str:
    return _path(uri, root) or uri


def _path(uri: str, root: str) -> str:
    """The path of a `file:` URI, from the root if it is below it; empty for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if parts.scheme != "file":
        return ""
    path = unquote(parts.path)
    return path.removeprefix(f"{root}/") or path


def _picture(data: str) -> Image:
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        raw = b""
    kind = media_type(raw[:16])
    if not kind:
        raise InputError(
            "an attachment is no picture that a model reads", hint="attach PNG, JPEG, GIF or WebP"
        )
    try:
        check_picture_bytes(len(raw), "attachment")
        return check_picture(raw, "attachment")[0]
    except ToolError as error:
        raise InputError(error.message, hint="attach a smaller or a whole picture") from None
