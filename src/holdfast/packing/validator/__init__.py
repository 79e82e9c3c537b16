"""The validator: one named rule per provider constraint, on the dicts that are really sent.

Rule: it judges and never repairs, and no JSON value makes it raise.
"""

from typing import Literal

from msgspec import Struct

from holdfast.errors import NotFound, suggest
from holdfast.messages import Json
from holdfast.packing.validator import anthropic, gemini, openai, responses
from holdfast.packing.validator.request import ProviderRule, read_anthropic, read_openai

Provider = Literal["openai", "anthropic", "responses", "gemini"]

RULES: dict[Provider, tuple[ProviderRule, ...]] = {
    "openai": openai.RULES,
    "anthropic": anthropic.RULES,
    "responses": responses.RULES,
    "gemini": gemini.RULES,
}
_READERS = {
    "openai": read_openai,
    "anthropic": read_anthropic,
    "responses": responses.read_responses,
    "gemini": gemini.read_gemini,
}

_EXPLANATIONS = {rule.name: rule.explanation for rules in RULES.values() for rule in rules}


class Violation(Struct, frozen=True):
    """A rule is broken. `index` is the message's place, None for `system`, `tools` or the list as a whole;
    `id` is the call concerned, if any."""

    rule: str
    index: int | None
    message: str
    id: str = ""


def check(
    messages: list[dict[str, Json]], provider: Provider, *, system: Json = None, tools: Json = None
) -> tuple[Violation, ...]:
    """Everything in this request that the provider would refuse; nothing means it may leave the process."""
    request = _READERS[provider](messages, system, tools)
    return tuple(
        Violation(rule.name, index, message, call_id)
        for rule in RULES[provider]
        for index, message, call_id in rule.find(request)
    )


def explain(rule: str) -> str:
    """What a rule demands, in one sentence."""
    if rule not in _EXPLANATIONS:
        raise NotFound(f"there is no rule `{rule}`", hint=suggest(rule, _EXPLANATIONS))
    return _EXPLANATIONS[rule]
