"""A provider's own search: how it is asked for, and what is read of it. The SDKs' types say what is real."""

from typing import Any

import pytest

from holdfast.messages import SystemMessage, Text, ToolDefinition, Usage, UserMessage
from holdfast.models.adapter import ProviderAdapter
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.catalogue import load_catalogue
from holdfast.models.model import ModelRequest, WebSource
from holdfast.models.openai_responses_api import OpenAIResponsesAdapter
from holdfast.models.selection import create_adapter, resolve_model
from support.adapters import Event, read

ASKED = (SystemMessage("Search."), UserMessage((Text("msgspec release"),)))
READ = ToolDefinition("Read", "reads", {"type": "object", "properties": {}})


def adapter_of(name: str) -> ProviderAdapter:
    return create_adapter(resolve_model(name, load_catalogue(), {}))


def sent(name: str, **more: Any) -> dict[str, Any]:
    return adapter_of(name).body("m", ModelRequest(messages=ASKED, **more))


def test_a_search_is_asked_for_only_where_it_is_wanted_and_known():
    for name in ("anthropic/claude-opus-5-5", "openai/gpt-6-sol", "deepseek/deepseek-flash"):
        assert "search" not in str(sent(name, tools=(READ,)).get("tools"))
    assert "tools" not in sent("deepseek/deepseek-flash", searches=3)


def test_what_is_sent_has_the_form_of_the_sdks():
    params = pytest.importorskip("anthropic.types.web_search_tool_20250305_param")
    (tool,) = sent("anthropic/claude-opus-5-5", searches=3)["tools"]
    assert tool == {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    assert tool.keys() <= params.WebSearchTool20250305Param.__annotations__.keys()
    tools = pytest.importorskip("openai.types.responses.web_search_tool")
    body = sent("openai/gpt-6-sol", searches=3)
    assert tools.WebSearchTool.model_validate(body["tools"][0]).type == "web_search"
    assert body["max_tool_calls"] == 3
    assert "web_search_call.action.sources" in body["include"]


def test_pages_text_and_count_of_a_reply_of_the_messages_api():
    types = pytest.importorskip("anthropic.types")
    found = {
        "type": "web_search_result",
        "url": "https://a.example/1",
        "title": "One",
        "encrypted_content": "Eo8…",
        "page_age": None,
    }
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]}
    types.WebSearchToolResultBlock.model_validate(result)
    counted = {"web_search_requests": 2, "web_fetch_requests": 0}
    types.ServerToolUsage.model_validate(counted)
    failed = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_2",
        "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
    }
    types.WebSearchToolResultBlock.model_validate(failed)
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    cited = {
        "type": "citations_delta",
        "citation": {"type": "web_search_result_location", "url": "https://a.example/1"},
    }

    def event(kind: str, **fields: Any) -> Event:
        return kind, {"type": kind, **fields}

    def delta(index: int, **fields: Any) -> Event:
        return event("content_block_delta", index=index, delta=fields)

    reply = read(
        AnthropicAdapter().reader(),
        [
            event("message_start", message={"model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}}),
            event("content_block_start", index=0, content_block=use),
            delta(0, type="input_json_delta", partial_json='{"query":"x"}'),
            event("content_block_start", index=1, content_block=result),
            event("content_block_start", index=2, content_block=failed),
            event("content_block_start", index=3, content_block={"type": "text", "text": ""}),
            delta(3, **cited),
            delta(3, type="text_delta", text="It is 0.22."),
            event(
                "message_delta",
                delta={"stop_reason": "end_turn"},
                usage={"output_tokens": 7, "server_tool_use": counted},
            ),
            event("message_stop"),
        ],
    )
    assert (reply.parts, reply.stop) == ((Text("It is 0.22."),), "end")
    assert reply.sources == (WebSource("https://a.example/1", "One"),)
    assert reply.usage == Usage(9, 7, searches=2)


def test_pages_text_and_count_of_a_reply_of_the_responses_api():
    types = pytest.importorskip("openai.types.responses")
    action = {
        "type": "search",
        "query": "x",
        "sources": [{"type": "url", "url": f"https://{host}.example/"} for host in "ab"],
    }
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    opened = {"type": "open_page", "url": "https://a.example/"}
    page = {"type": "web_search_call", "id": "ws_2", "status": "completed", "action": opened}
    note = {
        "type": "url_citation",
        "url": "https://a.example/",
        "title": "A",
        "start_index": 0,
        "end_index": 2,
    }
    said = {"type": "output_text", "text": "It is.", "annotations": [note]}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [said]}
    for item in (search, page):
        types.ResponseFunctionWebSearch.model_validate(item)
    types.ResponseOutputMessage.model_validate(message)
    whole = {
        "status": "completed",
        "model": "gpt",
        "output": [search, page, message],
        "usage": {"input_tokens": 100, "output_tokens": 7},
    }
    reply = read(
        OpenAIResponsesAdapter().reader(),
        [("response.completed", {"type": "response.completed", "response": whole})],
        streamed=False,
    )
    assert reply.parts == (Text("It is."),)
    assert reply.sources == (WebSource("https://a.example/", "A"), WebSource("https://b.example/"))
    # Opening a page is no search.
    assert reply.usage == Usage(100, 7, searches=1)
