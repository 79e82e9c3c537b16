"""Servers invent. Whatever they send, a reader says something or raises an error of ours."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.models.adapter import ProviderAdapter
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.errors import BadReply, ModelError
from holdfast.models.model import ReplyCompleted
from holdfast.models.openai_chat_api import OpenAIChatAdapter
from holdfast.models.openai_responses_api import OpenAIResponsesAdapter

KINDS = """
    message_start content_block_start content_block_delta message_delta message_stop text_delta input_json_delta
    thinking_delta signature_delta text tool_use thinking redacted_thinking response.output_item.added
    response.output_item.done response.output_text.delta response.refusal.delta response.reasoning_text.delta
    response.reasoning_summary_text.delta response.function_call_arguments.delta response.completed
    response.incomplete function_call reasoning message
""".split()
KEYS = """
    type message content_block delta index usage stop_reason text thinking signature input partial_json id name data
    choices content reasoning_content tool_calls function arguments finish_reason refusal prompt_tokens_details
    output_index item item_id content_index summary_index response output status summary encrypted_content call_id
    input_tokens output_tokens prompt_tokens stop_details model error
""".split()

atoms = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(), st.text(max_size=4), st.sampled_from(KINDS)
)
values = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=10,
)
events = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from([key for key in KEYS if key != "type"]), values, max_size=5),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "adapter",
    [AnthropicAdapter(), OpenAIChatAdapter(), OpenAIResponsesAdapter()],
    ids=["anthropic", "chat", "responses"],
)
@settings(max_examples=150)
@given(st.lists(events, max_size=6))
def test_nothing_but_an_error_of_ours_is_raised(adapter: ProviderAdapter, said: list[dict[str, Any]]):
    reader = adapter.reader()
    came: list[Any] = []
    raised: ModelError | None = None
    try:
        for event in said:
            came += reader.feed("", msgspec.json.encode(event).decode())
        came += reader.end()
    except ModelError as error:
        raised = error
    assert [type(one) for one in came].count(ReplyCompleted) == (0 if raised else 1)
    if raised:
        assert "\n" not in raised.message
        assert isinstance(raised, BadReply) is ("ended too early" in raised.message)
