"""What providers say when they do not answer, and what it means."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.errors import (
    MAX_SHOWN,
    AuthFailed,
    ModelError,
    NetworkFailed,
    Overflowed,
    RateLimited,
    Refused,
    error_from_response,
    retry_after,
)
from holdfast.models.openai_chat_api import OpenAIChatAdapter
from holdfast.models.openai_responses_api import OpenAIResponsesAdapter

ADAPTERS = [AnthropicAdapter(), OpenAIChatAdapter(), OpenAIResponsesAdapter()]


def said(message: str, **fields: object) -> bytes:
    return msgspec.json.encode({"error": {"message": message, **fields}})


OVERFLOWS = {
    "anthropic": ("prompt is too long: 213462 tokens > 200000 maximum", 200_000),
    "anthropic, short": ("prompt is too long", 0),
    "anthropic, with the reply": (
        (
            "input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000, decrease input length or "
            "`max_tokens` and try again"
        ),
        200_000,
    ),
    "openai": (
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in "
            "130345 tokens. Please reduce the length of the messages."
        ),
        128_000,
    ),
    "openai, tools": (
        (
            "This model's maximum context length is 16,385 tokens. However, you requested 20000 tokens "
            "(15000 in the messages, 900 in the functions, and 4100 in the completion)."
        ),
        16_385,
    ),
    "openai, configured": (
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens. "
            "Please reduce the length of the messages."
        ),
        272_000,
    ),
    "openai responses": (
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        0,
    ),
    "vllm": (
        (
            "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
            "(112946 in the messages, 10000 in the completion). Please reduce the length of the "
            "messages or completion."
        ),
        16_384,
    ),
    "vllm, with the reply": (
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context "
            "length is 4096 tokens and your request has 20 input tokens (5000 > 4096 - 20)."
        ),
        4_096,
    ),
    "vllm, decoder": (
        (
            "The decoder prompt (length 5233) is longer than the maximum model length of 4096. Make sure that "
            "`max_model_len` is no smaller than the number of text tokens."
        ),
        4_096,
    ),
    "vllm, passed": (
        (
            "You passed 4097 input tokens and requested 10 output tokens. However, the model's context "
            "length is only 4096 tokens, resulting in a maximum input length of 4086 tokens."
        ),
        4_096,
    ),
    "sglang": ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8_192),
    "llama.cpp": (
        "request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it",
        8_192,
    ),
    "llama.cpp, before": (
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        0,
    ),
    "llama-cpp-python": ("Requested tokens (2285) exceed context window of 2048", 2_048),
    "ollama": ("prompt too long; exceeded max context length by 312 tokens", 0),
    "ollama, input": ("the input length exceeds the context length", 0),
    "lm studio": (
        (
            "The number of tokens to keep from the initial prompt is greater than the context length "
            "(n_keep: 5100>= n_ctx: 4096). Try to load the model with a larger context length"
        ),
        4_096,
    ),
    "deepseek": (
        (
            "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens "
            "(66000 in the messages, 4000 in the completion). Please reduce the length of the messages "
            "or completion."
        ),
        65_536,
    ),
    "moonshot": (
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
        262_144,
    ),
    "moonshot, before": ("model max length exceeded, max length:8192", 8_192),
    "openrouter": (
        (
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832"
            ' tokens (42832 of text input). Please reduce the length of either one, or use the "middle-'
            'out" transform to compress your prompt automatically.'
        ),
        32_768,
    ),
    "mistral": (
        "Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32_768,
    ),
    "xai": (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        131_072,
    ),
    "gemini": (
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
        1_048_576,
    ),
    "groq": ("Please reduce the length of the messages or completion.", 0),
    "copilot": ("prompt token count of 67890 exceeds the limit of 64000", 64_000),
    "dashscope": (
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        30_720,
    ),
    "bedrock": ("Input is too long for requested model.", 0),
    "z.ai": ("Prompt exceeds max length", 0),
    "minimax": ("invalid params, context window exceeds limit (2013)", 0),
    "text-generation-inference": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens",
        4_097,
    ),
}


@pytest.mark.parametrize("name", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_request_that_is_too_long_is_known_by_the_words_for_it(name: str, status: int):
    message, limit = OVERFLOWS[name]
    error = error_from_response(status, said(message, type="invalid_request_error"), {})
    assert isinstance(error, Overflowed), error
    assert error.limit == limit
    assert not error.is_transient
    assert " ".join(message.split())[:60] in error.message


def test_a_request_that_is_too_long_is_known_by_its_code_or_status():
    assert type(error_from_response(400, said("too much", code="context_length_exceeded"), {})) is Overflowed
    body = said(
        "the request is too long", type="exceed_context_size_error", n_prompt_tokens=14_429, n_ctx=8_192
    )
    error = error_from_response(400, body, {})
    assert isinstance(error, Overflowed)
    assert error.limit == 8_192
    assert (
        type(error_from_response(413, said("Request exceeds the maximum size", type="request_too_large"), {}))
        is Overflowed
    )
    assert (
        type(error_from_response(413, b"<html><h1>413 Request Entity Too Large</h1></html>", {}))
        is Overflowed
    )


def test_one_request_above_the_rate_of_a_minute_is_too_long_for_ever():
    words = (
        "Request too large for gpt-test in organization org-1 on tokens per min (TPM): Limit 30000, Requested "
        "35000. The input or output tokens must be reduced in order to run successfully."
    )
    for status in (429, 413):
        error = error_from_response(status, said(words, code="rate_limit_exceeded"), {})
        assert isinstance(error, Overflowed)
        assert error.limit == 30_000


@pytest.mark.parametrize(
    ("status", "message", "fields", "expected"),
    [
        (401, "Incorrect API key provided", {"code": "invalid_api_key"}, AuthFailed),
        (401, "This model's maximum context length is 9 tokens", {}, AuthFailed),
        (403, "Your key may not use this model", {}, AuthFailed),
        (403, "Your chosen model requires moderation and your input was flagged", {}, Refused),
        (403, "exceeded current quota", {"type": "exceeded_current_quota_error"}, Refused),
        (402, "Insufficient Balance", {"type": "unknown_error"}, Refused),
        (429, "You exceeded your current quota", {"code": "insufficient_quota"}, Refused),
        (400, "Your credit balance is too low to access the Anthropic API.", {}, Refused),
        (
            429,
            (
                "This request would exceed your organization's rate limit of 50,000 input tokens per "
                "minute. Please reduce the prompt length"
            ),
            {"type": "rate_limit_error"},
            RateLimited,
        ),
        (
            429,
            "Rate limit reached: Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
            {},
            RateLimited,
        ),
        (529, "Overloaded", {"type": "overloaded_error"}, RateLimited),
        (503, "Loading model", {"type": "unavailable_error"}, RateLimited),
        (
            400,
            "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
            {},
            Refused,
        ),
        (404, "The model `gpt-nope` does not exist", {"code": "model_not_found"}, Refused),
        (422, "messages: field required", {}, Refused),
        (308, "moved", {}, Refused),
        (408, "timeout", {}, NetworkFailed),
        (409, "conflict", {}, NetworkFailed),
        (500, "The server had an error", {"type": "server_error"}, NetworkFailed),
        (502, "Provider returned error", {}, NetworkFailed),
    ],
)
def test_other_refusals(status: int, message: str, fields: dict[str, object], expected: type[ModelError]):
    for adapter in ADAPTERS:
        error = adapter.error(status, said(message, **fields), {})
        assert type(error) is expected, error
        assert f"({status})" in error.message
        assert message[:20] in error.message


def test_the_hint_of_a_wrong_key_is_the_one_given():
    adapter = OpenAIChatAdapter(auth_hint="set OPENAI_API_KEY")
    assert adapter.error(401, said("no"), {}).hint == "set OPENAI_API_KEY"
    assert adapter.error(400, said("no"), {}).hint == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": "model \\"x\\" not found, try pulling it first"}', 'model "x" not found'),
        (b'{"object": "error", "message": "bad thing", "type": "BadRequestError", "code": 400}', "bad thing"),
        (
            b'{"detail": [{"loc": ["body"], "msg": "field required"}, {"msg": "no list"}]}',
            "field required; no list",
        ),
        (b'{"object":"error","message":{"detail":[{"msg":"Extra inputs"}]}}', "Extra inputs"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'[{"error": {"code": 400, "message": "from a list", "status": "INVALID"}}]', "from a list"),
        (b'{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}', "bad"),
        (
            (
                b'{"error":{"message":"Provider returned error","code":400,"metadata":'
                b'{"raw":"{\\"error\\":{\\"message\\":\\"the true reason\\"}}","provider_name":"X"}}}'
            ),
            "Provider returned error: the true reason",
        ),
        (
            b'{"error":{"message":"Provider returned error","metadata":{"raw":"plain reason"}}}',
            "plain reason",
        ),
        (
            b"<html><head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body></html>",
            "502 Bad Gateway nginx",
        ),
        (b"Internal\nServer Error", "Internal Server Error"),
        (b"", "no reason given"),
        (b"\xff\xfe", "\ufffd"),
        (b"[]", "no reason given"),
        (b"null", "no reason given"),
        (b'{"error": {"message": 5, "code": {}}}', "no reason given"),
    ],
)
def test_the_message_is_found_in_any_field(body: bytes, words: str):
    message = error_from_response(400, body, {}).message
    assert words in message
    assert "\n" not in message


def test_a_router_passes_an_overflow_on():
    raw = msgspec.json.encode({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}).decode()
    error = error_from_response(400, said("Provider returned error", metadata={"raw": raw}), {})
    assert isinstance(error, Overflowed)
    assert error.limit == 8


def test_no_key_is_shown_and_no_page():
    key = "sk-proj-abcDEF1234567890abcDEF1234567890abcDEF12"
    error = error_from_response(401, said(f"Incorrect API key provided: {key}. {'x ' * 900}"), {})
    assert key not in error.message
    assert key[-10:] not in error.message
    assert len(error.message) < MAX_SHOWN + 60
    late = error_from_response(400, said("y" * (MAX_SHOWN - 20) + " " + key), {})
    assert "sk-proj-abc" not in late.message


@pytest.mark.parametrize(
    ("headers", "words", "expected"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"Retry-After": "1.5"}, "", 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "-3"}, "", 0.0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "nan"}, "", None),
        (
            {"retry-after": "Sun, 15 Nov 2026 10:00:30 GMT", "date": "Sun, 15 Nov 2026 10:00:00 GMT"},
            "",
            30.0,
        ),
        (
            {"retry-after": "Sun, 15 Nov 2026 09:00:00 GMT", "date": "Sun, 15 Nov 2026 10:00:00 GMT"},
            "",
            0.0,
        ),
        ({"retry-after": "Sun, 15 Nov 2026 10:00:30 GMT"}, "", None),
        ({}, "Please try again in 1.2s. Visit", 1.2),
        ({}, "Please try again in 6m0s.", 360.0),
        ({}, "try again in 20ms", 0.02),
        ({}, "try again in a while", None),
        ({"retry-after": "7"}, "try again in 2s", 7.0),
        ({}, "", None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], words: str, expected: float | None):
    assert retry_after(headers, words) == expected
    error = error_from_response(429, said(words or "slow down"), headers)
    assert isinstance(error, RateLimited)
    assert error.retry_after == expected


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("error message detail code type metadata raw status n_ctx".split()), inner
        )
    ),
    max_leaves=8,
)


@given(st.integers(200, 600), st.one_of(st.binary(max_size=40), _json.map(msgspec.json.encode)))
def test_no_body_makes_it_raise(status: int, body: bytes):
    error = error_from_response(status, body, {"retry-after": "x"})
    assert isinstance(error, ModelError)
    assert "\n" not in error.message
