"""From a model's name, `provider/name` or `provider/name@http://host/v1`, to a model that can be asked.

Rule: what a name means is a pure function of the name, the configuration and the environment; no provider's code is
loaded before a model is created. A key goes to its provider, or to the address that a person gives by name or
variable; an address in a project's file never gets the key of a provider of the catalogue or of the person's own
file.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Literal

from msgspec import Struct

from holdfast.config import Config
from holdfast.errors import ConfigError, suggest
from holdfast.models.adapter import ProviderAdapter
from holdfast.models.catalogue import Catalogue, ModelEntry, Provider, load_catalogue
from holdfast.models.catalogue_keys import is_url
from holdfast.models.model import Model
from holdfast.models.text_protocol import TextProtocolModel

MODEL_VARIABLE = "HOLDFAST_MODEL"


class ResolvedModel(Struct, frozen=True, kw_only=True):
    """What a name means. `key` is the environment variable that holds the key, empty where none is sent."""

    name: str
    entry: ModelEntry
    url: str
    key: str = ""
    is_key_needed: bool = True

    def missing(self, env: Mapping[str, str]) -> str:
        """The environment variable that must be set first; empty if nothing is missing."""
        return self.key if self.is_key_needed and not env.get(self.key, "").strip() else ""


def model_name(given: str, config: Config, env: Mapping[str, str]) -> str:
    """The name given here, else in `HOLDFAST_MODEL`, else as `default_model`; empty if there is none."""
    return given or env.get(MODEL_VARIABLE, "") or config.default_model


def create_model(name: str, config: Config | None = None, env: Mapping[str, str] = os.environ) -> Model:
    """The model of this name, ready to be asked. Raises `ConfigError` if it is unknown or its key is not set."""
    resolved = resolve_model(name, load_catalogue(config), env)
    if variable := resolved.missing(env):
        raise ConfigError(
            f"`{resolved.name}` needs a key, and `{variable}` is not set",
            hint=f"set it with `export {variable}=…`; `holdfast models` shows which keys are set",
        )
    # Loaded late: a provider's code is needed to ask a model, and not to list models.
    from holdfast.models.remote import RemoteModel  # noqa: PLC0415
    from holdfast.models.transport import Endpoint  # noqa: PLC0415

    endpoint = Endpoint(url=resolved.url, key=env.get(resolved.key, "").strip())
    model = RemoteModel(resolved.name, resolved.entry.model, create_adapter(resolved), endpoint)
    return model if resolved.entry.tools else TextProtocolModel(model)


def resolve_model(name: str, catalogue: Catalogue, env: Mapping[str, str]) -> ResolvedModel:
    """What a name means. Pure."""
    plain, given = _split(name)
    provider = _provider(plain, catalogue)
    entry = catalogue.entry(plain)
    elsewhere = given or entry.url or env.get(provider.url_variable, "")
    url = elsewhere or provider.url
    if not is_url(url):
        raise ConfigError(
            f"`{name}` has no address"
            if not url
            else f"the address of `{plain}` is not a web address: `{url}`",
            hint=f"give it as `{plain}@http://127.0.0.1:8000/v1`",
        )
    # Variables that people set for providers of the catalogue are not for an address in a project's file.
    is_from_file = bool(entry.url) and not given
    known = {one.key for one in load_catalogue().providers.values()} if is_from_file else ()
    # Anthropic's path begins with `/v1`, the others' do not.
    base = url.rstrip("/")
    return ResolvedModel(
        name=plain,
        entry=entry,
        url=base.removesuffix("/v1") if entry.protocol == "messages" else base,
        key="" if provider.key in known or (is_from_file and not entry.takes_key) else provider.key,
        is_key_needed=not elsewhere and not provider.is_local,
    )


def models_with_address(
    names: Iterable[str], catalogue: Catalogue, env: Mapping[str, str]
) -> list[ResolvedModel]:
    """What these names mean, without those that only a configuration has and that get their address where a person
    asks for them: `name@http://…`."""
    found = []
    for name in names:
        with suppress(ConfigError):
            found.append(resolve_model(name, catalogue, env))
    return found


def create_adapter(resolved: ResolvedModel) -> ProviderAdapter:
    """The adapter for a model's API, with what the catalogue knows about the model."""
    # Loaded late, for the same reason.
    from holdfast.models.anthropic_api import AnthropicAdapter  # noqa: PLC0415
    from holdfast.models.openai_chat_api import OpenAIChatAdapter  # noqa: PLC0415
    from holdfast.models.openai_responses_api import OpenAIResponsesAdapter  # noqa: PLC0415

    entry = resolved.entry
    hint = f"the key is read from `{resolved.key}`" if resolved.key else ""
    if entry.protocol == "messages":
        return AnthropicAdapter(
            thinking="adaptive" if entry.thinking == "adaptive" else "budget",
            thinking_off=off if (off := entry.thinking_off) in ("disabled", "between_tools", "low") else "",
            takes_temperature=entry.temperature,
            max_output=entry.max_output,
            # Only servers with a cache know the marks.
            cache="5m" if entry.cache_seconds else "",
            search=entry.search,
            auth_hint=hint,
        )
    effort_off = off if (off := entry.thinking_off) in ("none", "minimal", "low") else ""
    if entry.protocol == "responses":
        return OpenAIResponsesAdapter(
            keeps_reasoning=entry.thinking != "no",
            thinking_off=effort_off,
            takes_temperature=entry.temperature,
            max_output=entry.max_output,
            search=entry.search,
            auth_hint=hint,
        )
    return OpenAIChatAdapter(
        system=entry.system,
        limit_field=entry.limit_field,
        reasoning_field=entry.reasoning_field,
        thinking=_chat_thinking(entry),
        thinking_off=effort_off,
        takes_temperature=entry.temperature,
        max_output=entry.max_output,
        auth_hint=hint,
    )


def _chat_thinking(entry: ModelEntry) -> Literal["", "effort", "switch", "switch and effort"]:
    match entry.thinking:
        case "effort":
            return "effort"
        case "switch":
            return "switch and effort" if entry.efforts else "switch"
        case _:
            return ""


def _split(name: str) -> tuple[str, str]:
    """The name and the address after it, if there is one. Names may contain an `@` themselves."""
    for scheme in ("@http://", "@https://"):
        plain, at, rest = name.partition(scheme)
        if at:
            return plain, scheme.removeprefix("@") + rest
    return name, ""


def _provider(name: str, catalogue: Catalogue) -> Provider:
    provider, slash, model = name.partition("/")
    if provider in catalogue.providers and model:
        return catalogue.providers[provider]
    if not name:
        raise ConfigError(
            "no model is chosen",
            hint=f"give `--model provider/name`, or set `{MODEL_VARIABLE}` or `default_model`",
        )
    if slash and model:
        other = f"any other that speaks chat completions is `compatible/{model}@URL`"
        raise ConfigError(
            f"there is no provider `{provider}`",
            hint=suggest(provider, catalogue.providers, more=other),
        )
    names = {entry.model: entry.name for entry in catalogue.models.values()}
    names |= {provider: f"{provider}/NAME" for provider in catalogue.providers}
    near = get_close_matches(name, names, n=1)
    meant = f"did you mean `{names[near[0]]}`? " if near else ""
    raise ConfigError(f"`{name}` should be `provider/name`", hint=f"{meant}`holdfast models` lists all")
