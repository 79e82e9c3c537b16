"""Errors of models, by what can be done about them, and how a provider's refusal becomes one of them.

Rule: every failure of a provider becomes one of these, with the provider's own words on one line, shortened and
without secrets. What they mean is decided here, by HTTP status, codes and words, once for all providers, because
compatible servers use each other's words. A pattern comes from a real server's answer.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.messages import Json, Usage
from holdfast.redaction import redact
from holdfast.wire.foreign_json import Losses, count, decode_text, items, obj, text


class ModelError(HoldfastError):
    """A model could not be asked, or did not answer. `is_transient`: the same request may succeed later.
    `retry_after` are the seconds that the provider asks to wait, None where it does not say."""

    is_transient = False
    usage: Usage | None = None
    """What replies that could not be used have cost, where there were any."""

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Overflowed(ModelError):
    """The request is too long. `limit` is the most tokens the model takes, 0 where the provider does not say."""

    def __init__(self, message: str, *, limit: int = 0) -> None:
        super().__init__(message)
        self.limit = limit


class AuthFailed(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""


class RateLimited(ModelError):
    """Too many requests, or the provider is overloaded."""

    is_transient = True


class Refused(ModelError):
    """The provider declined: a request it does not accept, an unknown model, content it rejects."""


class NetworkFailed(ModelError):
    """The provider could not be reached, closed the connection, or failed by itself."""

    is_transient = True


class TimedOut(NetworkFailed):
    """The first token, or the next one, did not arrive in time."""


class BadReply(ModelError):
    """What arrived is not a reply: it breaks the protocol, or ends too early."""

    is_transient = True


OVERFLOW_CODES = frozenset(
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

MAX_SHOWN = 300
"""Characters of the provider's words that are shown."""
_READ = 4_000
"""Characters of them that are read: a page of HTML may follow."""
_NO_CREDIT = frozenset(
    """insufficient_quota billing_error billing_hard_limit_reached exceeded_current_quota_error
    insufficient_balance""".split()
)
_SLOW_DOWN = frozenset(
    """rate_limit_error rate_limit_exceeded rate_limit_reached_error overloaded_error engine_overloaded_error
    server_overloaded server_is_overloaded slow_down insufficient_system_resource""".split()
)
_WRONG_KEY = frozenset("authentication_error permission_error invalid_api_key invalid_authentication".split())
_DECLINED = frozenset(
    """invalid_request_error not_found_error invalid_prompt model_not_found content_filter content_policy_violation
    bio_policy BadRequestError NotFoundError""".split()
)
_PASSING_STATUS = (408, 409, 425)
_MODERATED = re.compile(r"moderation|flagged|content policy|guardrail", re.IGNORECASE)
_TAG = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^<>]*>", re.IGNORECASE | re.DOTALL)
_WAIT = re.compile(
    r"try again in (?:(?P<m>\d+)m)?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+)ms)?\b", re.IGNORECASE
)


def _limit(match: re.Match[str]) -> int:
    number = match.groupdict().get("limit") or "0"
    return int(number.replace(",", "").replace("_", ""))


class ErrorDetails(Struct, frozen=True):
    """What a provider said about a failure. `limit` is the window, where a field of its own names it."""

    words: str
    codes: frozenset[str]
    status: int = 0
    limit: int = 0


def error_from_response(
    status: int, body: bytes, headers: Mapping[str, str], *, auth_hint: str = ""
) -> ModelError:
    """The error that an answer other than a reply means. `auth_hint` says where the key comes from."""
    said = _said(_decoded(body.decode("utf-8", "replace")))
    # Some servers send errors with the status 200.
    return _classified(said.status if status < 300 else status, said, headers, auth_hint)


def holds_error(body: bytes) -> bool:
    """Whether a body that should be a reply is an error instead, whatever its status."""
    said = _decoded(body.decode("utf-8", "replace"))
    value = obj(said[0] if isinstance(said, list) and said else said)
    return bool(value.get("error")) or "error" in (value.get("type"), value.get("object"))


def error_from_event(value: Json, *, auth_hint: str = "") -> ModelError:
    """The error that an event in a stream means, by its codes and words where it has no status."""
    said = _said(value)
    return _classified(said.status, said, {}, auth_hint)


def overflow_of(error: BaseException) -> "Overflowed | None":
    """What an exception of a provider's SDK, or of an HTTP client, says if the request was too long; else None."""
    if isinstance(error, Overflowed):
        return error
    response = getattr(error, "response", None)
    codes = (getattr(error, "status_code", 0), getattr(error, "code", 0), getattr(response, "status_code", 0))
    status = next((code for code in codes if type(code) is int and code), 0)
    if not status:
        # An error of no provider's, whatever its words.
        return None
    bodies = (getattr(error, "body", None), getattr(error, "details", None), getattr(response, "text", None))
    decoded = [_decoded(body) if isinstance(body, str) else body for body in bodies]
    said = next((_said(body) for body in decoded if isinstance(body, dict)), None) or _said(str(error))
    found = _classified(status, replace(said, words=f"{said.words} {error}"), {}, "")
    return found if isinstance(found, Overflowed) else None


def redacted_line(words: str) -> str:
    """The words as they may be shown: redacted before they are shortened, so that no part of a key remains."""
    line = " ".join(redact(words[:_READ]).split())
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1].rstrip() + "…"


def retry_after(headers: Mapping[str, str], words: str = "") -> float | None:
    """Seconds to wait, from the headers, else from words such as "try again in 1.2s"; None where neither says.

    A date is compared with the answer's own `date`, so that our clock does not matter.
    """
    known = {name.lower(): value for name, value in headers.items()}
    if (ms := _seconds(known.get("retry-after-ms", ""))) is not None:
        return ms / 1000
    given = known.get("retry-after", "")
    if (seconds := _seconds(given)) is not None:
        return seconds
    then, now = _moment(given), _moment(known.get("date", ""))
    if then and now:
        return max(0.0, (then - now).total_seconds())
    match = _WAIT.search(words)
    if match and any(match.groups()):
        minutes, rest, ms_ = (float(match[name] or 0) for name in ("m", "s", "ms"))
        return minutes * 60 + rest + ms_ / 1000
    return None


def _classified(status: int, said: ErrorDetails, headers: Mapping[str, str], auth_hint: str) -> ModelError:
    words = redacted_line(said.words) or "no reason given"
    where = f" ({status})" if status else ""
    if status == 402 or said.codes & _NO_CREDIT:
        hint = "the account has no credit or quota left: see its billing page"
        return Refused(f"the provider refused the request{where}: {words}", hint=hint)
    if (limit := _overflow(status, said)) is not None:
        return Overflowed(f"the request is too long{where}: {words}", limit=limit)
    if status == 403 and _MODERATED.search(said.words):
        return Refused(f"the provider refused the content{where}: {words}")
    if status in (401, 403) or (not status and said.codes & _WRONG_KEY):
        return AuthFailed(f"the provider did not accept the key{where}: {words}", hint=auth_hint)
    if status in (429, 503, 529) or (not status and said.codes & _SLOW_DOWN):
        wait = retry_after(headers, said.words)
        return RateLimited(f"the provider asks to slow down{where}: {words}", retry_after=wait)
    declined = said.codes & _DECLINED if not status else 300 <= status < 500 and status not in _PASSING_STATUS
    if declined:
        return Refused(f"the provider refused the request{where}: {words}")
    return NetworkFailed(f"the provider failed{where}: {words}")


def _overflow(status: int, said: ErrorDetails) -> int | None:
    """The most tokens that the model takes, 0 if unsaid, if the request is too long; else None. A wrong key never
    means that, nor what only sounds like length: a rate of tokens a minute, or too long a reply being asked for."""
    if status in (429, 413) and (match := _TOO_LARGE.search(said.words)):
        # A single request exceeds the tokens a minute: waiting would not help.
        return _limit(match)
    if status in (401, 403, 429):
        return None
    limits = [_limit(match) for pattern in _PATTERNS if (match := pattern.search(said.words))]
    if not limits and not said.codes & OVERFLOW_CODES and status != 413:
        return None
    return max(limits, default=0) or said.limit


def _decoded(words: str) -> Json:
    try:
        return decode_text(words, Losses())
    except ValueError:
        return words


def _said(value: Json) -> ErrorDetails:
    """The common shapes: an `error` object or text, the same unwrapped, FastAPI's `detail`, an HTML page."""
    if isinstance(value, str):
        return ErrorDetails(_TAG.sub(" ", value[:_READ]), frozenset())
    if isinstance(value, list):
        return _said(value[0]) if value else ErrorDetails("", frozenset())
    outer = obj(value)
    error = outer.get("error")
    inner = obj(error) or outer
    metadata = obj(inner.get("metadata"))
    pieces = [text(error), _words(inner.get("message")), _words(inner.get("detail")), _upstream(metadata)]
    names = (inner.get("type"), inner.get("code"), inner.get("error_type"), metadata.get("error_type"))
    codes = frozenset(str(name) for name in names if isinstance(name, str | int) and name)
    status = _status(inner.get("code")) or _status(inner.get("status"))
    return ErrorDetails(": ".join(filter(None, pieces)), codes, status, count(inner.get("n_ctx")))


def _words(value: Json) -> str:
    """A text, or the messages of a list of complaints."""
    if isinstance(value, dict):
        return _words(value.get("detail"))
    complaints = [text(obj(item).get("msg")) or text(item) for item in items(value)]
    return text(value) or "; ".join(filter(None, complaints))


def _upstream(metadata: dict[str, Json]) -> str:
    """What a router passes on from the provider behind it, which is often JSON itself."""
    raw = text(metadata.get("raw"))
    return _said(_decoded(raw)).words or raw if raw else ""


def _status(value: Json) -> int:
    """The HTTP status in a provider's code, as a number or in digits; else 0."""
    number = count(int(value) if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value) else value)
    return number if 400 <= number < 600 else 0


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return max(0.0, seconds) if isfinite(seconds) else None


def _moment(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
