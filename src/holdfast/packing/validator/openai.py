"""What the Chat Completions API refuses in roles and content, one rule each.

Rule: a function judges the dicts that are really sent; a name with `strict-` says that the rule is ours.
"""

import re
from collections.abc import Iterator

from holdfast.messages import Json
from holdfast.packing.validator.request import Found, Request, Rule, kind
from holdfast.packing.validator.shared import (
    IMAGE_TYPES,
    messages_are_objects,
    messages_present,
    parts_outside,
    roles_outside,
)

PART_TYPES = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text", "image_url", "input_audio", "file"),
}
"""What each role's content may hold. That a tool's is text only is a rule of its own."""

_IMAGE_URL = re.compile(rf"https?://\S+|data:(?:{'|'.join(IMAGE_TYPES)});base64,.", re.IGNORECASE)
_PARTICIPANT = re.compile(r"[^\s<|\\/>]{1,64}\Z")


def role_legal(request: Request) -> Iterator[Found]:
    return roles_outside(request, PART_TYPES)


def content_shape(request: Request) -> Iterator[Found]:
    for index, role, content in request.odd:
        if content is not None or role != "assistant":
            what = "an empty list" if content == [] else kind(content)
            yield index, f"the content is {what}, not text or a list of parts", ""


def part_legal(request: Request) -> Iterator[Found]:
    return parts_outside(request, PART_TYPES)


def image_shape(request: Request) -> Iterator[Found]:
    for index, part in request.of_kind("image_url"):
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else None
        if not isinstance(url, str) or not _IMAGE_URL.match(url):
            yield index, "the image has no http(s) URL and no base64 data of type JPEG, PNG, GIF or WebP", ""
        elif isinstance(image, dict) and image.get("detail", "auto") not in ("auto", "low", "high"):
            yield index, f"the image's detail is {kind(image['detail'])}", ""


def tool_content_text(request: Request) -> Iterator[Found]:
    for (role, part_kind), parts in request.parts.items():
        if role == "tool" and part_kind != "text":
            for index, _ in parts:
                yield index, f"a tool result holds a part of type {kind(part_kind)}", ""


def message_not_empty(request: Request) -> Iterator[Found]:
    mute = [(index, role) for index, role, text in request.texts if not text]
    mute += [(index, role) for index, role, content in request.odd if content is None and role == "assistant"]
    mute += [(index, role) for index, role, content in request.lists if _only_empty_text(content)]
    for index, role in mute:
        message = request.messages[index]
        if role != "tool" and not any(message.get(key) for key in ("tool_calls", "refusal", "audio")):
            yield index, f"the message of {kind(role)} says nothing and calls nothing", ""


def participant_name(request: Request) -> Iterator[Found]:
    for index, role, message in request.turns:
        name = None if role == "tool" else message.get("name")
        if name is not None and not (isinstance(name, str) and _PARTICIPANT.match(name)):
            yield index, f"the participant's name is {kind(name)}", ""


def no_assistant_run(request: Request) -> Iterator[Found]:
    before = ""
    for index, role, _ in request.turns:
        if role == "assistant" == before:
            yield index, "two assistant messages stand in a row", ""
        before = role


def system_in_messages(request: Request) -> Iterator[Found]:
    if request.system is not None:
        yield None, "a system field stands apart from the messages", ""


def _only_empty_text(content: list[Json]) -> bool:
    return all(isinstance(p, dict) and p.get("type") == "text" and p.get("text") == "" for p in content)


MESSAGE_RULES = (
    Rule("openai.messages-present", "`messages` is a list with at least one message.", messages_present),
    Rule("openai.message-object", "Every message is a JSON object.", messages_are_objects),
    Rule(
        "openai.role-legal",
        "A role is `system`, `developer`, `user`, `assistant` or `tool`; the retired `function` is refused.",
        role_legal,
    ),
    Rule(
        "openai.content-shape",
        "Content is text or a list of at least one part, and only an assistant's may be null.",
        content_shape,
    ),
    Rule(
        "openai.part-legal",
        "A content part is an object of a type its role allows, and a text part holds text.",
        part_legal,
    ),
    Rule(
        "openai.image-shape",
        "An image part has an http(s) URL, or base64 data of a JPEG, PNG, GIF or WebP picture.",
        image_shape,
    ),
    Rule("openai.tool-content-text", "The content of a tool message is text only.", tool_content_text),
    Rule(
        "openai.message-not-empty",
        "No message is empty: an assistant says or calls something, everyone else but a tool says something.",
        message_not_empty,
    ),
    Rule(
        "openai.participant-name",
        "A participant's name has 1 to 64 characters, no white space, angle bracket, bar or slash among them.",
        participant_name,
    ),
    Rule(
        "openai.strict-assistant-run",
        "Ours: no two assistant messages in a row, because chat templates of compatible servers refuse them.",
        no_assistant_run,
    ),
    Rule(
        "openai.system-in-messages",
        "The system prompt is a message; this API has no field for it.",
        system_in_messages,
    ),
)
