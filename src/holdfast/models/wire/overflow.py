"""How providers and servers say that a request is too long, and the limit where they name it.

Rule: a pattern stands for words a real server was seen to say; what only sounds like length (a rate of tokens a
minute, a reply asked for too long) is none.
"""

import re

CODES = frozenset(
    (
        "context_length_exceeded",  # OpenAI, Groq, DeepSeek
        "exceed_context_size_error",  # llama.cpp
        "model_context_window_exceeded",
        "request_too_large",  # Anthropic, for the bytes of a body
        "string_above_max_length",  # OpenAI, for one text
        "1261",  # Z.ai
    )
)

_NUMBER = r"(?P<limit>\d[\d,_]*)"
_PATTERNS = tuple(
    re.compile(pattern.replace("#", _NUMBER), re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"prompt is too long(?:: [\d,]+ tokens > #)?",  # Anthropic
        r"exceed context limit: [\d,]+ \+ [\d,]+ > #",  # Anthropic, with max_tokens
        r"maximum (?:context|prompt|input|model) length (?:is|of) (?:only )?#",  # OpenAI, vLLM, DeepSeek, xAI, …
        r"model'?s? context length (?:is|of) (?:only )?#",  # vLLM
        r"maximum context length \(#\)",  # ctransformers
        r"longer than the (?:maximum )?model(?:'s)?(?: context)? length(?: of)? \(?#",  # vLLM, SGLang
        r"too large for model with # maximum context length",  # Mistral
        r"exceed the configured limit of #",  # OpenAI
        r"exceeds? the context window",  # OpenAI Responses
        r"exceed context window of #",  # llama-cpp-python
        r"exceeds the available context size(?: \(# tokens\))?",  # llama.cpp
        r"context size has been exceeded",  # LM Studio, llama.cpp in mid-stream
        r"context length of only #",  # LM Studio
        r"greater than the context length(?: \(n_keep: \d+ ?>= ?n_ctx: #\))?",  # LM Studio
        r"exceeded model token limit: #",  # Moonshot
        r"model max length exceeded, max length: ?#",  # Moonshot, before
        r"exceeded max(?:imum)? context length",  # Ollama
        r"input length exceeds the context length",  # Ollama
        r"exceeds the maximum number of tokens allowed \(#\)",  # Gemini
        r"token count of [\d,]+ exceeds the limit of #",  # Copilot
        r"tokens? \+ `max_new_tokens` must be <= #",  # text-generation-inference
        r"range of input length should be \[\d+, ?#\]",  # DashScope
        r"tokens in the prompt cannot exceed #",  # Cohere
        r"input is too long",  # Bedrock
        r"prompt exceeds max length",  # Z.ai
        r"context window exceeds limit",  # MiniMax
        r"context[ _]length[ _]exceeded",
        r"reduce the length of (?:the|your|either)",  # Groq, and the tail of many others
    )
)
_TOO_LARGE = re.compile(rf"request too large.*?limit:? {_NUMBER},? requested", re.IGNORECASE | re.DOTALL)


def overflow_limit(words: str) -> int | None:
    """What the model takes, 0 if it is not said, where these words mean that a request is too long; else None."""
    found = [match for pattern in _PATTERNS if (match := pattern.search(words))]
    if not found:
        return None
    return max(_limit(match) for match in found)


def minute_limit(words: str) -> int | None:
    """The tokens a minute, if one request alone asks for more of them: to wait would not help."""
    match = _TOO_LARGE.search(words)
    return _limit(match) if match else None


def _limit(match: re.Match[str]) -> int:
    number = match.groupdict().get("limit") or "0"
    return int(number.replace(",", "").replace("_", ""))
