"""Messages of a recording as Pydantic AI's, and back."""

from collections.abc import Iterator

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import _conversation_summary_text as summary_as_sent
from pydantic_ai.usage import RequestUsage

from peers.adapters.serve import Message


def add_to(history: list[ModelMessage], message: Message, usage: RequestUsage) -> None:
    """Append a recorded message; `usage` goes with a reply."""
    if message["role"] == "assistant":
        history.append(ModelResponse(list(to_parts(message)), usage=usage))
    elif message["role"] == "tool":
        part = ToolReturnPart(message["name"], message["content"], tool_call_id=message["tool_call_id"])
        last = history[-1]
        # Results of one round are one request, as the library's own loop writes them.
        if isinstance(last, ModelRequest) and all(isinstance(p, ToolReturnPart) for p in last.parts):
            last.parts = [*last.parts, part]
        else:
            history.append(ModelRequest([part]))
    else:
        history.append(ModelRequest([UserPromptPart(message["content"])]))


def to_parts(message: Message) -> Iterator[TextPart | ToolCallPart]:
    if message.get("content"):
        yield TextPart(message["content"])
    for call in message.get("tool_calls") or ():
        yield ToolCallPart(call["name"], call["arguments"], tool_call_id=call["id"])


def to_openai(messages: list[ModelMessage]) -> list[Message]:
    sent: list[Message] = []
    for message in messages:
        sent += asked(message) if isinstance(message, ModelRequest) else [replied(message)]
    return sent


def asked(request: ModelRequest) -> Iterator[Message]:
    for part in request.parts:
        match part:
            case ToolReturnPart():
                text = part.model_response_str()
                yield {
                    "role": "tool",
                    "tool_call_id": part.tool_call_id,
                    "name": part.tool_name,
                    "content": text,
                }
            case CompactionPart():
                yield {"role": "user", "content": summary_as_sent(part.content)}
            case UserPromptPart():
                yield {"role": "user", "content": part.content}
            case _:
                raise TypeError(f"a {type(part).__name__} was not expected in a request")


def replied(response: ModelResponse) -> Message:
    text = "\n".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = [
        {"id": part.tool_call_id, "name": part.tool_name, "arguments": part.args_as_dict()}
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]
    said: Message = {"role": "assistant", "content": text}
    return said | {"tool_calls": calls} if calls else said
