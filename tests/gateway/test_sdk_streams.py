"""The official SDKs stream through the gateway in every mode, and a strict provider takes every request."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest
from clients.provider import Provider, serving
from clients.scenario import Command, Scenario
from google import genai
from google.genai import types

from gateway.client_lists import long_text
from gateway.gateway_server import gateway_before
from holdfast.store import MemoryStore

TASK = "Count the errors."
ANSWER = "There is one error."
STEPS = 6
SCENARIO = Scenario(TASK, tuple((Command(f"cat log.{n}"),) for n in range(STEPS)), ANSWER)
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
MODES = {"watch": {}, "safe": {}, "fold": {"budget": 8_000}}


def output(arguments: dict[str, str]) -> str:
    """What a command prints: every third file is long."""
    number = int(arguments["command"].rpartition(".")[2])
    return long_text(400 if number % 3 == 0 else 20, name=f"file{number}")


def stream_anthropic(url: str) -> Iterator[str]:
    tools = [{"name": "bash", "input_schema": SCHEMA}]
    messages: list[Any] = [{"role": "user", "content": TASK}]
    with anthropic.Anthropic(base_url=url, api_key="x", max_retries=0) as client:
        while True:
            with client.messages.stream(
                model="claude-opus-5-5", max_tokens=9_000, messages=messages, tools=tools,
                thinking={"type": "adaptive"},
            ) as stream:  # fmt: skip
                reply = stream.get_final_message()
            yield "".join(block.text for block in reply.content if block.type == "text")
            calls = [block for block in reply.content if block.type == "tool_use"]
            messages.append({"role": "assistant", "content": reply.content})
            results = [
                {"type": "tool_result", "tool_use_id": c.id, "content": output(c.input)} for c in calls
            ]
            if not results:
                return
            messages.append({"role": "user", "content": results})


def stream_chat(url: str) -> Iterator[str]:
    tools: Any = [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": TASK}]
    with openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0) as client:
        while True:
            with client.chat.completions.stream(
                model="gpt-6-sol", messages=messages, tools=tools, stream_options={"include_usage": True}
            ) as stream:
                said = stream.get_final_completion().choices[0].message
            yield said.content or ""
            if not said.tool_calls:
                return
            messages.append(said.model_dump(exclude_none=True, exclude={"parsed"}))
            for call in messages[-1]["tool_calls"]:
                call["function"].pop("parsed_arguments", None)
                text = output(json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


def stream_responses(url: str) -> Iterator[str]:
    tools: Any = [{"type": "function", "name": "bash", "parameters": SCHEMA, "strict": False}]
    items: list[Any] = [{"role": "user", "content": TASK}]
    with openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0) as client:
        while True:
            with client.responses.stream(
                model="gpt-5.5",
                input=items,
                tools=tools,
                store=False,
                include=["reasoning.encrypted_content"],
            ) as stream:
                reply = stream.get_final_response()
            yield reply.output_text
            items += [
                item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in reply.output
            ]
            calls = [item for item in reply.output if item.type == "function_call"]
            if not calls:
                return
            for call in calls:
                text = output(json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": text})


def stream_gemini(url: str) -> Iterator[str]:
    settings = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[{"name": "bash", "parametersJsonSchema": SCHEMA}])],
        automatic_function_calling={"disable": True},
    )
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=TASK)])]
    with genai.Client(api_key="x", http_options={"base_url": url}) as client:
        while True:
            pieces = client.models.generate_content_stream(
                model="gemini-3.8-flash", contents=contents, config=settings
            )
            parts = [part for piece in pieces for part in piece.candidates[0].content.parts]
            yield "".join(part.text for part in parts if part.text)
            contents.append(types.Content(role="model", parts=parts))
            results = [
                types.Part.from_function_response(
                    name="bash", response={"output": output(part.function_call.args)}
                )
                for part in parts
                if part.function_call
            ]
            if not results:
                return
            contents.append(types.Content(role="user", parts=results))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stream", [stream_anthropic, stream_chat, stream_responses, stream_gemini])
def test_a_loop_of_streams_ends_as_it_should(
    stream: Callable[[str], Iterator[str]], mode: str, tmp_path
) -> None:
    provider = Provider(SCENARIO, folder="/somewhere")
    settings = {"files": tmp_path, "mode": mode, **MODES[mode]}
    with serving(provider) as url, gateway_before(url, MemoryStore(), **settings) as gateway:
        texts = list(stream(gateway))
    assert texts[-1] == ANSWER
    assert [note.rules for note in provider.notes] == [()] * (STEPS + 1)
    assert [note.status for note in provider.notes] == [200] * (STEPS + 1)
    prompts = [note.prompt for note in provider.notes]
    if mode != "fold":
        assert [note.extends for note in provider.notes] == [None] + [True] * STEPS
    assert (prompts[-1] < 18_000) == (mode != "watch")
