"""Which model an agent asks; and if there is none, which keys and local servers a person has.

Rule: looking costs nothing: only servers on this machine are asked, and only for their lists of models.
"""

import os
from collections.abc import Mapping

from msgspec.structs import replace

from holdfast.config import Config, resolve_profile
from holdfast.errors import ConfigError
from holdfast.messages import Json
from holdfast.models.availability import Availability, check_availability
from holdfast.models.catalogue import Catalogue, ModelEntry, load_catalogue, price_table
from holdfast.models.model import Model, ModelReply
from holdfast.models.selection import (
    MODEL_VARIABLE,
    ResolvedModel,
    create_model,
    model_name,
    models_with_address,
    resolve_model,
)
from holdfast.packing.profile import Profile

SECONDS = 1.0
TOUR_HINT = "`holdfast tour` shows the agent at work; it needs no model, no key and no network"
TOUR_MODELS = ("tour/paced", "tour/plain")


class NoModel(ConfigError):
    """No model can be asked. The message says what to do, and `found` which keys and servers there are."""

    def __init__(self, message: str, *, found: str) -> None:
        super().__init__(message, hint=TOUR_HINT)
        self.found = found


def choose_model(asked: str, config: Config, env: Mapping[str, str]) -> tuple[Model, ModelEntry, bool]:
    """The model, its entry in the catalogue, and whether it answers on this machine."""
    catalogue = load_catalogue(config)
    name = model_name(asked, config, env)
    if name in TOUR_MODELS:
        # Loaded only when asked for: no other run needs the demo.
        from holdfast.tour.tour_model import tour_model  # noqa: PLC0415

        return (*tour_model(name), False)
    if not name:
        raise no_model_error(catalogue, env, None)
    chosen = resolve_model(name, catalogue, env)
    if chosen.missing(env):
        raise no_model_error(catalogue, env, chosen)
    return _opened(chosen, name, catalogue, config, env)


def _opened(
    chosen: ResolvedModel, name: str, catalogue: Catalogue, config: Config, env: Mapping[str, str]
) -> tuple[Model, ModelEntry, bool]:
    is_local = catalogue.providers[chosen.entry.provider].is_local
    entry = chosen.entry
    if not entry.window and is_local:
        # The window that the model's own server reports; 0 if it reports none or does not answer.
        answer = check_availability([chosen], env, SECONDS).get((chosen.url, chosen.key), Availability())
        entry = replace(entry, window=answer.served.get(entry.model, 0))
    return create_model(name, config, env), entry, is_local


def find_model(name: str, config: Config, env: Mapping[str, str]) -> tuple[Model, ModelEntry] | None:
    """A model of the catalogue, if it can be asked: for files that name one in passing. They give no address, which
    could be anybody's."""
    catalogue = load_catalogue(config)
    chosen = models_with_address([name] if name in catalogue.models else [], catalogue, env)
    if not chosen or chosen[0].missing(env):
        return None
    return create_model(name, config, env), catalogue.entry(name)


def named_model(name: str) -> tuple[Model, ModelEntry, bool]:
    """`choose_model`, for a program: by the name and the environment, without files."""
    config, env = Config(), os.environ
    catalogue, name = load_catalogue(config), model_name(name, config, env)
    if not name:
        raise ConfigError(
            "no model is chosen",
            hint=f'name it, `Agent("provider/name")`, or set `{MODEL_VARIABLE}`; `holdfast models` lists them',
        )
    return _opened(resolve_model(name, catalogue, env), name, catalogue, config, env)


def model_profile(entry: ModelEntry) -> Profile:
    """The profile `code` for a model: within its window, with folds that pay at its prices."""
    return resolve_profile(Config(), {}, model_window=entry.window, defaults=cache_prices(entry)).profile


def billed_model(asked: Model, entry: ModelEntry, reply: ModelReply) -> str:
    """The model that was asked, since its price counts. Some servers report the name of another, or none."""
    return reply.model if entry.is_called(reply.model) else asked.name


def cache_prices(entry: ModelEntry) -> dict[str, Json]:
    """The model's prices as settings: they decide when a fold pays."""
    if entry.price is None or not entry.price.input:
        return {}
    table = price_table(entry)
    seconds = float(table.life_seconds)
    return {"cache_read": table.read, "cache_write": table.write, "cache_seconds": seconds}


def no_model_error(catalogue: Catalogue, env: Mapping[str, str], chosen: ResolvedModel | None) -> NoModel:
    """The error if no model is named (`chosen` is None), or if its key is missing."""
    if chosen is None:
        said = (
            f"no model is chosen: give `--model provider/name`, or set `{MODEL_VARIABLE}` or `default_model`"
        )
    else:
        said = f"`{chosen.name}` needs a key: `export {chosen.key}=…`, or choose another with `--model`"
    # Key variables and local servers, each with a model that it gives access to, if one is known.
    found = {
        f"`{provider.key}` is set": next(
            (name for name, entry in catalogue.models.items() if entry.provider == provider.name), ""
        )
        for provider in catalogue.providers.values()
        if not provider.is_local and env.get(provider.key, "").strip()
    }
    found |= {f"a server answers at {url}": name for url, name in local_servers(catalogue, env).items()}
    nothing = "no key of a provider is set, and no model server answers on this machine"
    listed = [f"{what} (`--model {name}`)" if name else what for what, name in found.items()]
    return NoModel(said, found="; ".join(listed) or nothing)


def local_servers(catalogue: Catalogue, env: Mapping[str, str]) -> dict[str, str]:
    """The local addresses that answer, each with a model that is served there."""
    names = [name for name, provider in catalogue.providers.items() if provider.is_local and provider.url]
    chosen = {name: resolve_model(f"{name}/any", catalogue, env) for name in names}
    reached = check_availability(list(chosen.values()), env, SECONDS)
    found: dict[str, str] = {}
    for name, one in chosen.items():
        answer = reached[one.url, one.key]
        if answer.is_available:
            found[one.url] = next((f"{name}/{model}" for model in sorted(answer.served)), "")
    return found
