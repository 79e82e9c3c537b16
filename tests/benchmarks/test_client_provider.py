"""The strict provider of the client runs: it takes what the official SDKs send, and refuses what providers do."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from clients.prompt_cache import counter_of, dollars
from clients.provider import Provider, serving
from clients.scenario import Command, ReadLines, Scenario
from clients.scenarios import edit, needles, short
from clients.wires.values import Bill
from google import genai
from google.genai import types as gemini_types

TASK = "Count the errors."
SCENARIO = Scenario(
    TASK,
    ((Command("grep -c ERROR app.log", r"(?P<errors>\d+)"),), (Command("ls"), Command("pwd"))),
    "There are @errors@ errors.",
)
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
ANTHROPIC_TOOLS = [{"name": "bash", "input_schema": SHELL}]
CHAT_TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": SHELL}}]
RESPONSES_TOOLS = [{"type": "function", "name": "bash", "parameters": SHELL, "strict": False}]
BOUND, UNBOUND = "claude-opus-5-5", "claude-opus-5"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Served:
    """A provider with its address and its clock."""

    def __init__(self, provider: Provider, url: str, clock: Clock) -> None:
        self.provider, self.url, self.clock = provider, url, clock

    def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        return httpx2.post(self.url + path, json=body, headers=headers, timeout=30)

    def messages(self, body: Any, **headers: str) -> httpx2.Response:
        return self.post("/v1/messages", body, **headers)


@pytest.fixture
def start() -> Iterator[Callable[..., Served]]:
    """Starts providers, which end with the test."""
    opened = []

    def opener(scenario: Scenario = SCENARIO, **options: Any) -> Served:
        clock = Clock()
        provider = Provider(scenario, folder="/work", clock=clock, **options)
        context = serving(provider)
        url = context.__enter__()
        opened.append(context)
        return Served(provider, url, clock)

    yield opener
    for context in opened:
        context.__exit__(None, None, None)


@pytest.fixture
def served(start) -> Served:
    return start()


def anthropic_body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": BOUND, "max_tokens": 1000, "tools": ANTHROPIC_TOOLS, "messages": list(messages), **more}


def result(call: str, text: str = "7", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": text, **more}


def use(call: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "bash", "input": {"command": "ls"}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content) if content else TASK}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


# The official SDKs


def test_anthropic_sdk_goes_through_a_scenario_streamed_and_not(served):
    with anthropic.Anthropic(base_url=served.url, api_key="x", max_retries=0) as client:
        messages: list[Any] = [user()]
        asked = {
            "model": BOUND,
            "max_tokens": 20_000,
            "tools": ANTHROPIC_TOOLS,
            "thinking": {"type": "adaptive"},
        }
        first = client.messages.create(messages=messages, **asked)
        assert [block.type for block in first.content] == ["thinking", "text", "tool_use"]
        messages += [
            {"role": "assistant", "content": first.content},
            user(result(first.content[2].id, "7\n")),
        ]
        with client.messages.stream(messages=messages, **asked) as stream:
            second = stream.get_final_message()
        assert [block.type for block in second.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert second.stop_reason == "tool_use"
        uses = [block.id for block in second.content if block.type == "tool_use"]
        messages += [{"role": "assistant", "content": second.content}, user(*map(result, uses))]
        counted = client.messages.count_tokens(
            messages=messages, model=BOUND, tools=ANTHROPIC_TOOLS, thinking={"type": "adaptive"}
        )
        last = client.messages.create(messages=messages, **asked)
        assert last.content[0].text == "There are 7 errors."
        assert last.usage.input_tokens == counted.input_tokens
        assert client.models.list().data[0].id
    assert [note.rules for note in served.provider.notes] == [()] * 4
    assert [note.extends for note in served.provider.notes] == [None, True, None, True]


def test_openai_sdk_goes_through_a_scenario_in_both_of_its_apis(served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="x", max_retries=0) as client:
        messages: list[Any] = [{"role": "system", "content": "You help."}, {"role": "user", "content": TASK}]
        first = client.chat.completions.create(model="gpt-6-sol", messages=messages, tools=CHAT_TOOLS)
        call = first.choices[0].message.tool_calls[0]
        assert json.loads(call.function.arguments) == {"command": "grep -c ERROR app.log"}
        messages += [
            first.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "12"},
        ]
        with client.chat.completions.stream(
            model="gpt-6-sol", messages=messages, tools=CHAT_TOOLS, stream_options={"include_usage": True}
        ) as stream:
            second = stream.get_final_completion()
        calls = second.choices[0].message.tool_calls
        assert len(calls) == 2
        assert second.usage.prompt_tokens == served.provider.notes[1].prompt

        items: list[Any] = [{"role": "user", "content": TASK}]
        sealed = {"store": False, "include": ["reasoning.encrypted_content"], "tools": RESPONSES_TOOLS}
        reply = client.responses.create(model="gpt-5.5", input=items, **sealed)
        assert [item.type for item in reply.output] == ["reasoning", "message", "function_call"]
        items += [item.model_dump(exclude_none=True) for item in reply.output]
        items.append({"type": "function_call_output", "call_id": reply.output[2].call_id, "output": "12"})
        with client.responses.stream(model="gpt-5.5", input=items, **sealed) as stream:
            last = stream.get_final_response()
        assert [item.type for item in last.output] == [
            "reasoning",
            "message",
            "function_call",
            "function_call",
        ]
    assert [note.rules for note in served.provider.notes] == [()] * 4


def test_genai_sdk_goes_through_a_scenario_streamed_and_not(served):
    with genai.Client(api_key="x", http_options={"base_url": served.url}) as client:
        declared = {"name": "bash", "parametersJsonSchema": SHELL}
        settings = gemini_types.GenerateContentConfig(
            tools=[gemini_types.Tool(function_declarations=[declared])],
            automatic_function_calling={"disable": True},
        )
        asked = {"model": "gemini-3.8-flash", "config": settings}
        contents: list[Any] = [gemini_types.Content(role="user", parts=[gemini_types.Part(text=TASK)])]
        reply = client.models.generate_content(contents=contents, **asked)
        assert [call.name for call in reply.function_calls] == ["bash"]
        response = gemini_types.Part.from_function_response(name="bash", response={"output": "3"})
        contents += [reply.candidates[0].content, gemini_types.Content(role="user", parts=[response])]
        pieces = list(client.models.generate_content_stream(contents=contents, **asked))
        parts = [part for piece in pieces for part in piece.candidates[0].content.parts]
        contents += [
            gemini_types.Content(role="model", parts=parts),
            gemini_types.Content(role="user", parts=[response, response]),
        ]
        last = client.models.generate_content(contents=contents, **asked)
        counted = client.models.count_tokens(model="gemini-3.8-flash", contents=contents)
    assert last.text == "There are 3 errors."
    assert 0 < counted.total_tokens < last.usage_metadata.prompt_token_count
    assert [note.rules for note in served.provider.notes] == [()] * 4


def test_paths_beside_the_scenario_are_answered(served):
    assert httpx2.head(served.url + "/").status_code == 200
    upgrade = {"upgrade": "websocket", "connection": "upgrade"}
    assert httpx2.get(served.url + "/v1/responses", headers=upgrade).status_code == 426
    assert httpx2.get(served.url + "/v1/unknown").status_code == 404
    for body in ([], "text", None):
        assert served.messages(body).status_code == 400


# Rules

LONG_TEXT = "word " * 4000
BROKEN_ANTHROPIC: dict[str, dict[str, Any]] = {
    "A01": anthropic_body(user(), assistant(text("Hello")), user(result("call_1"))),
    "A02": anthropic_body(user(), assistant(use("call_1")), user(text("and?"))),
    "A03": anthropic_body(user(), assistant(use("call_1")), user(text("here"), result("call_1"))),
    "A04": anthropic_body(user(), assistant(use("call 1")), user(result("call 1"))),
    "A05": anthropic_body(
        user(), assistant({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}), user()
    ),
    "A07": anthropic_body(
        user(),
        assistant({"type": "thinking", "thinking": "Hm", "signature": "made up"}, use("call_1")),
        user(result("call_1")),
    ),
    "A09": anthropic_body(user(), assistant(text("Hm"), {"type": "redacted_thinking", "data": "x"}), user()),
    "A10": anthropic_body(user(*({**text("x"), "cache_control": {"type": "ephemeral"}} for _ in range(5)))),
    "A11": anthropic_body(
        user(
            {**text("x"), "cache_control": {"type": "ephemeral"}},
            {**text("y"), "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        )
    ),
    "A12": anthropic_body(user(text("  "))),
    "A13": anthropic_body(),
    "A14": anthropic_body(user(), assistant(text("The answer is"))),
    "A15": anthropic_body({"role": "system", "content": "Be brief."}, user()),
    "A16": anthropic_body(user(), assistant(use("call_1")), user(result("call_1")), tools=None),
    "A17": anthropic_body(user(), max_tokens=None),
    "A18": anthropic_body(user(), compaction={"type": "summarize"}, context_management={"edits": []}),
    "A19": anthropic_body(user(), fallback_credit_token="credit"),
    "A20": anthropic_body(user(text(LONG_TEXT))),
    "A21": anthropic_body(
        user(), assistant(use("call_1")), user(result("call_1", [{"type": "image"}], is_error=True))
    ),
}


@pytest.mark.parametrize("rule", BROKEN_ANTHROPIC)
def test_a_broken_rule_of_anthropics_is_refused_with_its_id(start, rule):
    served = start(window=3000)
    answer = served.messages(BROKEN_ANTHROPIC[rule])
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert set(served.provider.notes[0].rules) - {"A13"} == {rule} - {"A13"}
    assert rule in served.provider.notes[0].rules


def test_words_of_refusals_are_the_providers(start):
    served = start(window=3000)

    def words(rule: str) -> str:
        return served.messages(BROKEN_ANTHROPIC[rule]).json()["error"]["message"]

    assert "messages.2: unexpected `tool_use_id` found in `tool_result` blocks: call_1" in words("A01")
    assert "`tool_use` ids were found without `tool_result` blocks immediately after: call_1" in words("A02")
    assert "A maximum of 4 blocks with cache_control may be provided. Found 5" in words("A10")
    assert "prompt is too long: " in words("A20")
    six = anthropic_body(user(*({**text("x"), "cache_control": {"type": "ephemeral"}} for _ in range(6))))
    assert "Found 6" in served.messages(six).json()["error"]["message"]
    much = served.messages(anthropic_body(user(), max_tokens=200_000)).json()["error"]["message"]
    assert much.startswith(
        "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens"
    )


def chat_body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-6-sol", "tools": CHAT_TOOLS, "messages": list(messages), **more}


CHAT_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
}
ASKING = {"role": "user", "content": TASK}
BROKEN_CHAT = {
    "C01": chat_body(ASKING, CHAT_CALL, ASKING),
    "C02": chat_body(ASKING, {"role": "tool", "tool_call_id": "call_1", "content": "7"}),
    "C03": chat_body(ASKING, tools=[]),
}


@pytest.mark.parametrize("rule", BROKEN_CHAT)
def test_a_broken_rule_of_chat_completions_is_refused_with_its_id(served, rule):
    answer = served.post("/v1/chat/completions", BROKEN_CHAT[rule])
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert set(served.provider.notes[0].rules) == {rule}


def responses_body(*items: Any, **more: Any) -> dict[str, Any]:
    body = {"model": "gpt-5.5", "tools": RESPONSES_TOOLS, "input": list(items), "store": False}
    return {**body, "include": ["reasoning.encrypted_content"], **more}


FUNCTION_CALL = {"type": "function_call", "call_id": "call_1", "name": "bash", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "7"}
BROKEN_RESPONSES = {
    "R01": responses_body(ASKING, FUNCTION_CALL),
    "R02": responses_body(ASKING, OUTPUT),
    "R05": responses_body(ASKING, {**FUNCTION_CALL, "id": "call_1"}, OUTPUT),
    "R06": responses_body(ASKING, {"type": "reasoning", "id": "rs_1", "summary": []}, FUNCTION_CALL, OUTPUT),
    "R07": responses_body({"type": "compaction_trigger"}, ASKING),
}


@pytest.mark.parametrize("rule", BROKEN_RESPONSES)
def test_a_broken_rule_of_responses_is_refused_with_its_id(served, rule):
    answer = served.post("/v1/responses", BROKEN_RESPONSES[rule])
    assert answer.status_code == 400
    assert set(served.provider.notes[0].rules) == {rule}


def test_reasoning_and_its_call_come_back_together(served):
    reasoning, _, call = served.post("/v1/responses", responses_body(ASKING)).json()["output"]
    output = {**OUTPUT, "call_id": call["call_id"]}
    served.post("/v1/responses", responses_body(ASKING, call, output))
    served.post("/v1/responses", responses_body(ASKING, call, output, reasoning))
    served.post(
        "/v1/responses", responses_body(ASKING, {**reasoning, "encrypted_content": "x"}, call, output)
    )
    served.post("/v1/responses", responses_body(ASKING, reasoning, call, output))
    # Text after a call: it is paired by its id, not by its place.
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]}
    served.post("/v1/responses", responses_body(ASKING, reasoning, call, said, output))
    rules = [note.rules for note in served.provider.notes]
    assert rules == [(), ("R03",), ("R04",), ("R06",), (), ()]


def test_a_compaction_of_responses_comes_back_as_it_was(served):
    trigger = {"type": "compaction_trigger"}
    (item,) = served.post("/v1/responses", responses_body(ASKING, trigger)).json()["output"]
    assert item["type"] == "compaction"
    assert served.post("/v1/responses", responses_body(item, ASKING)).status_code == 200
    changed = {**item, "encrypted_content": item["encrypted_content"] + "x"}
    assert served.post("/v1/responses", responses_body(changed, ASKING)).status_code == 400
    assert served.provider.notes[-1].rules == ("R07",)


def test_broken_rules_of_gemini_are_refused(served):
    path = "/v1beta/models/gemini-3.8-flash:generateContent"
    asking = {"role": "user", "parts": [{"text": TASK}]}
    tools = [{"functionDeclarations": [{"name": "bash", "parametersJsonSchema": SHELL}]}]
    said = served.post(path, {"contents": [asking], "tools": tools}).json()["candidates"][0]["content"]
    call = next(part for part in said["parts"] if "functionCall" in part)
    unsigned = {key: value for key, value in call.items() if key != "thoughtSignature"}
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": "7"}}}]}

    def rules(*contents: Any) -> tuple[str, ...]:
        served.post(path, {"contents": list(contents), "tools": tools})
        return served.provider.notes[-1].rules

    assert rules(asking, said, answer) == ()
    assert rules(asking, said, asking) == ("gemini.calls-answered",)
    assert rules(asking, answer) == ("gemini.responses-have-calls",)
    assert rules(asking, {"role": "model", "parts": [unsigned]}, answer) == ("gemini.thought-signature",)
    changed = {**call, "thoughtSignature": "bWFkZSB1cA=="}
    assert rules(asking, {"role": "model", "parts": [changed]}, answer) == ("gemini.thought-signature",)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        (
            "/v1/chat/completions",
            chat_body(ASKING, {"role": "user", "content": LONG_TEXT}),
            "context length is 3000",
        ),
        (
            "/v1/responses",
            responses_body({"role": "user", "content": LONG_TEXT}),
            "exceeds the context window",
        ),
        (
            "/v1beta/models/gemini-3.8-flash:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": LONG_TEXT}]}]},
            "exceeds the maximum number of tokens allowed (3000)",
        ),
    ],
)
def test_a_prompt_beyond_the_window_is_refused_in_the_providers_words(start, path, body, words):
    served = start(window=3000)
    answer = served.post(path, body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]
    assert served.provider.notes[0].is_too_long


# Thinking


def thinking_history(served: Served, model: str, steps: int = 2) -> list[Any]:
    """A conversation with a thinking block in each of its replies, as the provider said them."""
    messages = [user()]
    for _ in range(steps):
        said = served.messages(
            anthropic_body(*messages, model=model, thinking={"type": "adaptive"}, system="Help.")
        ).json()["content"]
        messages += [assistant(*said), user(*(result(b["id"]) for b in said if b["type"] == "tool_use"))]
    return messages


def rules_of(served: Served, messages: list[Any], model: str = BOUND, **more: Any) -> tuple[str, ...]:
    asked = {"thinking": {"type": "adaptive"}, "system": "Help.", **more}
    headers = (
        {"anthropic-beta": "thinking-binding-controls-2026-08-01"} if "block_binding" in str(more) else {}
    )
    served.messages(anthropic_body(*messages, model=model, **asked), **headers)
    return served.provider.notes[-1].rules


def test_a_changed_old_result_breaks_bound_thinking_and_no_other(served):
    bound, unbound = thinking_history(served, BOUND), thinking_history(served, UNBOUND)
    assert rules_of(served, bound) == ()
    for history, model, broken in ((bound, BOUND, ("A08",)), (unbound, UNBOUND, ())):
        history[2] = user({**history[2]["content"][0], "content": "folded"})
        assert rules_of(served, history, model) == broken
    assert (
        "messages.3.content.0: Invalid signature in thinking block. The block is bound to a"
        in (
            served.messages(anthropic_body(*bound, thinking={"type": "adaptive"}, system="Help.")).json()[
                "error"
            ]["message"]
        )
    )
    dropped = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert rules_of(served, bound, thinking=dropped) == ()


def test_bound_thinking_breaks_with_system_and_tools_and_not_with_marks_and_forms(served):
    history = thinking_history(served, BOUND)
    assert rules_of(served, history, system="Help more.") == ("A08", "A08")
    more = [*ANTHROPIC_TOOLS, {"name": "recall", "input_schema": SHELL}]
    assert rules_of(served, history, tools=more) == ("A08", "A08")
    marked = [{**message} for message in history]
    marked[0] = user({**text(TASK), "cache_control": {"type": "ephemeral"}})
    assert rules_of(served, marked) == ()


def test_thinking_may_go_from_the_start_and_not_from_the_middle_or_the_end(start):
    served = start(Scenario(TASK, tuple((Command(f"echo {n}"),) for n in range(3)), "Done."))
    history = thinking_history(served, BOUND, 3)
    ended = [{**message} for message in history]
    ended[5] = assistant(*(block for block in ended[5]["content"] if block["type"] != "thinking"))
    assert rules_of(served, ended) == ("A08",)
    gap = [{**message} for message in history]
    gap[3] = assistant(*(block for block in gap[3]["content"] if block["type"] != "thinking"))
    assert rules_of(served, gap) == ("A08",)
    gap[1] = assistant(*(block for block in gap[1]["content"] if block["type"] != "thinking"))
    assert rules_of(served, gap) == ()


def test_thinking_of_the_last_reply_is_not_to_be_modified(served):
    history = thinking_history(served, UNBOUND)
    for at, broken in ((1, ()), (3, ("A06",))):
        changed = [{**message} for message in history]
        first, *rest = changed[at]["content"]
        changed[at] = assistant({**first, "thinking": "Something else"}, *rest)
        assert rules_of(served, changed, UNBOUND) == broken
    first, *rest = history[3]["content"]
    history[3] = assistant({**first, "signature": first["signature"][:-8]}, *rest)
    assert rules_of(served, history, UNBOUND) == ("A07",)


# Cache and prices


def marked(said: str, **mark: str) -> dict[str, Any]:
    return {**text(said), "cache_control": {"type": "ephemeral", **mark}}


def test_cache_of_marks_as_computed_by_hand(served):
    system, question, more = "alpha " * 1500, "beta " * 700, "gamma " * 300
    count = counter_of(UNBOUND).text
    per_message = counter_of(UNBOUND).family.per_message
    plain = {"model": UNBOUND, "tools": None}
    a, b, c = count(system), count(question) + per_message, count(more) + per_message

    def usage(*content: Any) -> tuple[int, int, int]:
        said = served.messages(anthropic_body(user(*content), **plain, system=[marked(system)])).json()[
            "usage"
        ]
        return said["input_tokens"], said["cache_read_input_tokens"], said["cache_creation_input_tokens"]

    assert usage(marked(question)) == (0, 0, a + b)
    assert usage(text(question), marked(more)) == (0, a + b, c)
    assert usage(text(question), text(more)) == (b + c, a, 0)
    served.clock.now += 299
    assert usage(text(question), marked(more)) == (0, a + b + c, 0)
    served.clock.now += 299
    assert usage(text(question), marked(more)) == (0, a + b + c, 0)
    served.clock.now += 301
    assert usage(text(question), marked(more)) == (0, 0, a + b + c)
    assert usage(text(question + "changed"), marked(more))[1] == a


def test_a_mark_looks_back_twenty_blocks_and_short_prompts_are_not_kept(served):
    long, plain = "alpha " * 1500, {"model": UNBOUND, "tools": None}

    def read(count: int) -> int:
        blocks = [text(f"block {number}") for number in range(count)]
        said = served.messages(anthropic_body(user(text(long), *blocks, marked("end")), **plain)).json()
        return said["usage"]["cache_read_input_tokens"]

    first = served.messages(anthropic_body(user(marked(long)), **plain)).json()["usage"]
    assert read(18) == first["cache_creation_input_tokens"]
    assert read(40) == 0
    small = served.messages(anthropic_body(user(marked("short")), **plain)).json()["usage"]
    assert (small["cache_creation_input_tokens"], small["cache_read_input_tokens"]) == (0, 0)


def test_automatic_cache_reads_the_prefix_in_steps_of_128(served):
    first = {"role": "user", "content": "alpha " * 1500}
    say = [first, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And?"}]
    usage = [
        served.post("/v1/chat/completions", {"model": "gpt-6-sol", "messages": messages}).json()["usage"]
        for messages in ([first], say, [{"role": "user", "content": "short"}])
    ]
    tokens = counter_of("gpt-6-sol").text(first["content"]) + counter_of("gpt-6-sol").family.per_message
    read = tokens - tokens % 128
    assert usage[0]["prompt_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": tokens}
    assert usage[1]["prompt_tokens_details"]["cached_tokens"] == read
    assert usage[1]["prompt_tokens_details"]["cache_write_tokens"] == usage[1]["prompt_tokens"] - read
    assert usage[2]["prompt_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}


def test_dollars_are_those_of_the_model():
    bill = Bill(prompt=1_000_000, read=400_000, write=200_000, write_hour=100_000, output=10_000)
    # Opus 5.5: 0.4 M plain at $4, 0.4 M read at $0.20, 0.1 M written at $5 and 0.1 M for an hour at $8.
    assert dollars("anthropic", "claude-opus-5-5", bill) == pytest.approx(1.6 + 0.08 + 0.5 + 0.8 + 0.2)
    assert dollars("responses", "gpt-5.5", Bill(prompt=200_000, read=100_000)) == pytest.approx(0.5 + 0.05)
    assert dollars("chat", "unknown", bill) is None


# Conversations


def test_title_requests_do_not_disturb_and_a_shortened_history_goes_on(served):
    def ask(*messages: Any, tools: Any = CHAT_TOOLS) -> Any:
        body = chat_body(*messages, tools=tools) if tools else {"model": "m", "messages": list(messages)}
        return served.post("/v1/chat/completions", body).json()["choices"][0]["message"]

    first = ask(ASKING)
    assert ask({"role": "user", "content": f"Write a title for: {TASK}"}, tools=None)["content"]
    call = first["tool_calls"][0]["id"]
    answer = {"role": "tool", "tool_call_id": call, "content": "5"}
    second = ask({"role": "user", "content": "Summary."}, first, answer)
    assert len(second["tool_calls"]) == 2
    # Sent again, it is answered again.
    assert ask(ASKING, first, answer)["tool_calls"] == second["tool_calls"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in second["tool_calls"]]
    last = ask({"role": "user", "content": "A summary of everything."}, second, *results)
    assert last["content"] == "There are 5 errors."
    # Summarized by the client, no call is left.
    assert ask(ASKING, {"role": "assistant", "content": "I did this and that."}, ASKING) == last
    notes = served.provider.notes
    assert [note.conversation for note in notes].count("side") == 1
    assert [note.extends for note in notes if note.conversation != "side"] == [
        None,
        False,
        False,
        False,
        False,
    ]


def test_what_was_not_shown_is_not_known(served):
    first = served.post("/v1/chat/completions", chat_body(ASKING)).json()["choices"][0]["message"]
    hidden = {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": "[folded]"}
    second = served.post("/v1/chat/completions", chat_body(ASKING, first, hidden)).json()["choices"][0][
        "message"
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in second["tool_calls"]]
    last = served.post("/v1/chat/completions", chat_body(ASKING, first, hidden, second, *results)).json()
    assert last["choices"][0]["message"]["content"] == "There are NOT-SHOWN errors."


def test_without_tools_the_system_prompt_tells_a_conversation(start):
    served = start(edit())

    def ask(system: str) -> str:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": edit().task}]
        said = served.post("/v1/chat/completions", {"model": "gpt-6-sol", "messages": messages}).json()
        return said["choices"][0]["message"]["content"]

    assert "Good morning" in ask("You edit files.")
    assert "Good morning" not in ask("You write commit messages.")
    assert "Good morning" in ask("You edit files.")


@pytest.mark.parametrize(
    ("name", "properties", "given"),
    [
        (
            "read_file",
            {"absolute_path": {}, "offset": {}, "limit": {}},
            {"absolute_path": "/w/app.log", "offset": 5, "limit": 2},
        ),
        (
            "read_file",
            {"file_path": {}, "start_line": {}, "end_line": {}},
            {"file_path": "/w/app.log", "start_line": 5, "end_line": 6},
        ),
        ("bash", {"command": {"type": "array"}}, {"command": ["bash", "-lc", "sed -n '5,6p' app.log"]}),
        ("exec_command", {"cmd": {"type": "string"}}, {"cmd": "sed -n '5,6p' app.log"}),
    ],
)
def test_a_range_is_read_with_the_clients_own_tool(name, properties, given):
    scenario = Scenario("Read.", ((ReadLines("app.log", 5, 2),),), "Done.")
    (call,) = scenario.calls(0, ["call_1"], {name: {"properties": properties}}, {}, "/w")
    assert (call.name, call.arguments) == (name, given)


def test_scenarios_are_as_long_as_the_readme_says():
    assert len(short().steps) == 7
    assert len(needles()) == len(set(needles())) == 5
