"""What a person without a model has: keys in the environment, and servers on this machine that answer.

Rule: nothing is asked that costs money, and only servers of this machine are asked at all.
"""

from collections.abc import Mapping

from holdfast.errors import ConfigError
from holdfast.models.availability import Availability, check_availability
from holdfast.models.catalogue import Catalogue
from holdfast.models.selection import MODEL_VARIABLE, ResolvedModel, resolve_model

SECONDS = 1.0
TOUR = "`holdfast tour` shows the agent at work; it needs no model, no key and no network"


class NoModel(ConfigError):
    """No model can be asked: the message says what to do, `found` what is there, the hint what else can be seen."""

    def __init__(self, message: str, *, found: str) -> None:
        super().__init__(message, hint=TOUR)
        self.found = found


def no_model_error(catalogue: Catalogue, env: Mapping[str, str], chosen: ResolvedModel | None) -> NoModel:
    """The error for a model that is not named (`chosen` is None), or whose key is missing."""
    if chosen is None:
        said = (
            f"no model is chosen: give `--model provider/name`, or set `{MODEL_VARIABLE}` or `default_model`"
        )
    else:
        said = f"`{chosen.name}` needs a key: `export {chosen.key}=…`, or choose another with `--model`"
    keys, servers = keys_in(catalogue, env), local_servers(catalogue, env)
    found = [f"`{key}` is set{_such_as(name)}" for key, name in keys.items()]
    found += [f"a server answers at {url}{_such_as(name)}" for url, name in servers.items()]
    nothing = "no key of a provider is set, and no model server answers on this machine"
    return NoModel(said, found="; ".join(found) or nothing)


def keys_in(catalogue: Catalogue, env: Mapping[str, str]) -> dict[str, str]:
    """Variables of providers' keys that are set, each with a model that it opens, as far as one is known."""
    return {
        provider.key: next((name for name, e in catalogue.models.items() if e.provider == provider.name), "")
        for provider in catalogue.providers.values()
        if not provider.is_local and env.get(provider.key, "").strip()
    }


def local_servers(catalogue: Catalogue, env: Mapping[str, str], seconds: float = SECONDS) -> dict[str, str]:
    """Addresses of this machine that answer, each with a model that it has."""
    names = [name for name, provider in catalogue.providers.items() if provider.is_local and provider.url]
    chosen = {name: resolve_model(f"{name}/any", catalogue, env) for name in names}
    reached = check_availability(list(chosen.values()), env, seconds)
    found: dict[str, str] = {}
    for name, one in chosen.items():
        answer = reached[one.url, one.key]
        if answer.is_available:
            found[one.url] = next((f"{name}/{model}" for model in sorted(answer.served)), "")
    return found


def served_window(chosen: ResolvedModel, env: Mapping[str, str], seconds: float = SECONDS) -> int:
    """The window that a model's own server names; 0 where it does not, or does not answer."""
    answer = check_availability([chosen], env, seconds).get((chosen.url, chosen.key), Availability())
    return answer.served.get(chosen.entry.model, 0)


def _such_as(model: str) -> str:
    return f" (`--model {model}`)" if model else ""
