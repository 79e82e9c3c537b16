"""Google's Gemini API: `generateContent`, streamed or not.

Rule: calls and responses are paired by their order, and a thought signature comes back where it was handed out.
"""

import base64
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from clients.wires.values import (
    Asked,
    Bill,
    Body,
    Breach,
    ModelCall,
    PromptBlock,
    Said,
    ToolResult,
    canonical,
    joined_text,
    named_session,
    objects,
    server_event,
)
from holdfast.packing.validator import Violation, check

_MODEL = re.compile(r"/models/([^/:]+):")
WORDS = {
    "calls-answered": "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn.",
    "responses-have-calls": "Please ensure that function response turn comes immediately after a function call "
    "turn.",
    "calls-follow-user": "Please ensure that function call turn comes immediately after a user turn or after a "
    "function response turn.",
    "messages-present": "contents are required",
}


class GeminiWire:
    name = "gemini"

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        """Signatures that were handed out, with the id of the call they are on."""

    def read(self, body: Body, path: str, headers: Mapping[str, str]) -> Asked:
        counted = body.get("generateContentRequest")
        body = counted if isinstance(counted, dict) else body
        contents = objects(body.get("contents"))
        prompt = body.get("systemInstruction") or body.get("system_instruction") or {}
        system = joined_text(prompt.get("parts")) if isinstance(prompt, dict) else str(prompt)
        functions = [
            f for tool in objects(body.get("tools")) for f in objects(_get(tool, "functionDeclarations"))
        ]
        blocks = [PromptBlock("tools", canonical(f), canonical(f).decode()) for f in functions]
        blocks += [PromptBlock("system", canonical(system), system)] if system else []
        blocks += [PromptBlock("messages", canonical(c), _text(c)) for c in contents]
        user = [joined_text(c.get("parts")) for c in contents if c.get("role") != "model"]
        exchanges = list(self._exchanges(contents))
        settings = _get(body, "generationConfig") or {}
        found = _MODEL.search(path)
        return Asked(
            body=body,
            model=found[1] if found else "",
            blocks=blocks,
            system=system,
            tools={
                str(f.get("name")): _get(f, "parametersJsonSchema") or f.get("parameters") or {}
                for f in functions
            },
            calls=[call for call, _ in exchanges],
            results=[ToolResult(call, text) for call, text in exchanges if text is not None],
            last_user=next((text for text in reversed(user) if text), ""),
            session=named_session(headers),
            is_streamed=":streamGenerateContent" in path,
            is_counting=path.endswith(":countTokens"),
            wants_json=isinstance(settings, dict) and "json" in str(_get(settings, "responseMimeType")),
            headers=headers,
        )

    def _exchanges(self, contents: list[Body]) -> Iterator[tuple[str, str | None]]:
        """The calls, by their ids where they have one and else by their signatures, with what answers them."""
        for content, after in zip(contents, [*contents[1:], {}], strict=True):
            calls = [part for part in objects(content.get("parts")) if _get(part, "functionCall")]
            answers = [r for part in objects(after.get("parts")) if (r := _get(part, "functionResponse"))]
            for at, part in enumerate(calls):
                known = self._calls.get(str(_get(part, "thoughtSignature")), "")
                answer = canonical(answers[at].get("response")).decode() if at < len(answers) else None
                yield str(_get(part, "functionCall").get("id") or known), answer

    def judge(self, asked: Asked) -> list[Breach]:
        contents = asked.body.get("contents")
        found = check(contents if isinstance(contents, list) else [], "gemini", tools=asked.body.get("tools"))
        return [*map(_breach, found), *self._signatures(asked)]

    def _signatures(self, asked: Asked) -> Iterator[Breach]:
        """The first call of each step of the current turn has the signature that it was handed out with."""
        contents = objects(asked.body.get("contents"))
        begins = max((at for at, one in enumerate(contents) if _is_said_by_user(one)), default=0)
        for at, content in enumerate(contents):
            calls = [part for part in objects(content.get("parts")) if _get(part, "functionCall")]
            for part in calls[:1]:
                signature, name = _get(part, "thoughtSignature"), _get(part, "functionCall").get("name")
                if signature is None and at > begins and asked.model.startswith("gemini-3"):
                    words = f"Function call `{name}` in the {at + 1}. content block is missing a"
                    yield Breach("gemini.thought-signature", f"{words} `thought_signature`.")
                elif signature is not None and signature not in self._calls:
                    yield Breach(
                        "gemini.thought-signature", f"contents[{at}]: Thought signature is not valid."
                    )

    def say(self, asked: Asked, said: Said) -> list[Body]:  # noqa: ARG002
        parts: list[Body] = [{"text": said.text}] if said.text else []
        return parts + [self._call_part(call, at == 0) for at, call in enumerate(said.calls)]

    def _call_part(self, call: ModelCall, is_first: bool) -> Body:
        part: Body = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
        if not is_first:
            return part
        signature = base64.b64encode(f"{call.id}|{secrets.token_hex(12)}".encode()).decode()
        self._calls[signature] = call.id
        return {**part, "thoughtSignature": signature}

    def whole(self, asked: Asked, content: list[Body], bill: Bill) -> Body:
        candidate = {"content": {"role": "model", "parts": content}, "finishReason": "STOP", "index": 0}
        usage = {
            "promptTokenCount": bill.prompt,
            "cachedContentTokenCount": bill.read,
            "candidatesTokenCount": bill.output,
            "totalTokenCount": bill.prompt + bill.output,
        }
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": asked.model,
            "responseId": secrets.token_hex(8),
        }

    def events(self, asked: Asked, content: list[Body], bill: Bill) -> list[bytes]:
        whole = self.whole(asked, content, bill)
        out = []
        for at, part in enumerate(content):
            candidate: Body = {"content": {"role": "model", "parts": [part]}, "index": 0}
            if at == len(content) - 1:
                candidate["finishReason"] = "STOP"
            out.append(server_event({**whole, "candidates": [candidate]}))
        return out

    def counted(self, bill: Bill) -> Body:
        return {"totalTokens": bill.prompt}

    def error(self, breach: Breach) -> Body:
        return {"error": {"code": breach.status, "message": breach.message, "status": "INVALID_ARGUMENT"}}

    def too_long(self, tokens: int, window: int) -> Breach:
        words = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
        return Breach("window", words)


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def _get(value: Body, name: str) -> Any:
    """A field by its name in camel case, or else in snake case: the API takes both."""
    return value.get(name, value.get(_snake(name)))


def _is_said_by_user(content: Body) -> bool:
    parts = objects(content.get("parts"))
    return content.get("role") != "model" and not any(_get(part, "functionResponse") for part in parts)


def _text(content: Body) -> str:
    said = []
    for part in objects(content.get("parts")):
        held = part.get("text") or _get(part, "functionCall") or _get(part, "functionResponse") or part
        said.append(held if isinstance(held, str) else canonical(held).decode())
    return "\n".join(said)


def _breach(violation: Violation) -> Breach:
    said = WORDS.get(violation.rule.partition(".")[2], f"contents[{violation.index}]: {violation.message}")
    return Breach(violation.rule, said)
