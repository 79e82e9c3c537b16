"""What is known about models: windows, output limits, prices, protocols; dated data that a user's file can change.

Rule: nothing is invented. What neither the catalogue nor the file says is 0 or None. A price that nobody wrote down
is None, never 0: it must not look like a free model.
"""

import datetime
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files

from msgspec import Struct, field
from msgspec.structs import asdict, astuple, replace

from holdfast.config import Config
from holdfast.effort import Effort, nearest_effort
from holdfast.errors import ConfigError, suggest
from holdfast.messages import Json, Usage
from holdfast.models.catalogue_keys import (
    ENTRY,
    PROVIDER,
    ApiProtocol,
    LimitField,
    SystemStyle,
    ThinkingMode,
    ThinkingOff,
    read_table,
)
from holdfast.prices import PriceTable

BUILT_IN = "built in"
FILE = "catalogue.toml"
OFF_WORDS: dict[ApiProtocol, tuple[ThinkingOff, ...]] = {
    "messages": ("default", "disabled", "between_tools", "low"),
    "responses": ("default", "none", "minimal", "low"),
    "chat": ("default", "none", "minimal", "low"),
}
"""The values of `thinking_off` for each protocol."""
COMMON_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high")
"""Levels that every model takes that takes any."""
CAUTIOUS_SECONDS = 300
CAUTIOUS_MINIMUM = 1_024
"""For a cache of which only the price is known: no provider keeps it for less, few minimums are larger."""

THOUSAND, MILLION = 1_000, 1_000_000

_DATED = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
"""What providers append to a name for a version of the same model; any other suffix means another model."""


class Price(Struct, frozen=True, kw_only=True):
    """Dollars for a million tokens. Cache prices are None where they are billed as input."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    @property
    def read(self) -> float:
        return self.input if self.cache_read is None else self.cache_read

    @property
    def write(self) -> float:
        return self.input if self.cache_write is None else self.cache_write


class LongPromptPrice(Price, frozen=True, kw_only=True):
    """The price of a whole request whose prompt is longer than `tokens`."""

    tokens: int


class CostParts(Struct, frozen=True, gc=False):
    """Dollars of a request. `plain` is input that was neither read from the cache nor written to it; `searches` are
    those of the provider's search tool."""

    reads: float
    writes: float
    plain: float
    output: float
    searches: float = 0.0


class ModelEntry(Struct, frozen=True, kw_only=True):
    """A model as the catalogue or a file describes it. `url` is set only where a file gives one, and `takes_key` is
    false where a project's file sends a provider of the person's own file elsewhere.

    `efforts` are the levels of thinking that it takes, from the lowest, without `off`; `effort` is the one that its
    provider recommends for coding. `thinking_off`: what is sent where no thinking is asked for. `always_thinks`:
    it cannot be turned off, and counts against the length of the reply. `temperature`: it may be set. `images`: it
    takes pictures with what is said. `system`, `limit_field` and `reasoning_field` are how this provider does chat
    completions: where system messages go, the name of the field for the longest reply, and the field in which
    thinking goes back, if any. `binds_thinking`: signed thinking is valid only behind the very messages it was
    written behind. `search`: the type of the provider's own tool for the web, empty if there is none;
    `search_price`: dollars for a thousand searches.
    """

    name: str = ""
    protocol: ApiProtocol = "chat"
    window: int = 0
    max_output: int = 0
    price: Price | None = None
    beyond: LongPromptPrice | None = None
    tools: bool = True
    images: bool = False
    thinking: ThinkingMode = "no"
    efforts: tuple[Effort, ...] = ()
    effort: Effort = "medium"
    thinking_off: ThinkingOff = "default"
    always_thinks: bool = False
    temperature: bool = True
    system: SystemStyle = "blocks"
    limit_field: LimitField = "max_tokens"
    reasoning_field: str = ""
    binds_thinking: bool = False
    search: str = ""
    search_price: float | None = None
    cache_seconds: float = 0
    cache_minimum: int = 0
    url: str = ""
    takes_key: bool = True
    note: str = ""
    origin: str = BUILT_IN
    date: datetime.date | None = None

    @property
    def provider(self) -> str:
        return self.name.partition("/")[0]

    @property
    def model(self) -> str:
        """The provider's own name for it."""
        return self.name.partition("/")[2]

    def is_called(self, reported: str) -> bool:
        """Whether a provider that reports this name means this model; some add a date."""
        return bool(reported) and _DATED.sub("", reported) in (self.name, self.model)

    @property
    def levels(self) -> tuple[Effort, ...]:
        """The levels of thinking to choose from; none for a model that does not think."""
        if self.thinking == "no":
            return ()
        above = self.efforts or (("high",) if self.thinking == "switch" else COMMON_EFFORTS)
        return above if self.always_thinks else ("off", *above)

    @property
    def may_think_when_off(self) -> bool:
        """Whether nothing is sent for `off`, since it is not known how to turn its thinking off."""
        return self.thinking in ("adaptive", "effort") and self.thinking_off == "default"

    def effort_for(self, wanted: Effort | None) -> Effort:
        """The level that is sent where this one is wanted, None for the recommended one."""
        if not self.levels:
            return "off"
        return nearest_effort(wanted, self.levels) if wanted else self.recommended_effort

    @property
    def recommended_effort(self) -> Effort:
        """The level nearest to what the provider recommends; `off` only if it recommends that."""
        above = [level for level in self.levels if level != "off"]
        return nearest_effort(self.effort, above if above and self.effort != "off" else self.levels)

    def price_of(self, prompt: int) -> Price | None:
        return self.beyond if self.beyond and prompt > self.beyond.tokens else self.price


class Provider(Struct, frozen=True, kw_only=True):
    """A provider. A local one needs no key, and lists its models itself. `defaults` is what its models have in
    common."""

    name: str
    url: str = ""
    key: str = ""
    url_variable: str = ""
    is_local: bool = False
    defaults: ModelEntry = ModelEntry()


class Catalogue(Struct, frozen=True):
    date: datetime.date
    providers: dict[str, Provider]
    models: dict[str, ModelEntry] = field(default_factory=dict)

    def entry(self, name: str) -> ModelEntry:
        """The entry of this name; for a model that is not listed, the defaults of its provider."""
        if known := self.models.get(name):
            return known
        return replace(self.providers[name.partition("/")[0]].defaults, name=name)


ModelLookup = Callable[[str], ModelEntry | None]
"""The catalogue's entry of a model, by the name that a log or a request has for it."""


def load_catalogue(config: Config | None = None) -> Catalogue:
    """The catalogue that comes with Holdfast, with the `[models]` of a configuration over it."""
    catalogue, own = _built_in(), set[str]()
    for layer in config.layers if config else ():
        if not layer.models:
            continue
        catalogue = merge_entries(catalogue, layer.models, layer.where)
        if layer.is_own:
            own |= {name.partition("/")[0] for name in layer.models}
        else:
            catalogue = _without_keys(catalogue, layer.models, own)
    return catalogue


def _without_keys(
    catalogue: Catalogue, given: Mapping[str, Mapping[str, Json]], own: Collection[str]
) -> Catalogue:
    """An address in a project's file does not get the key of a provider that the person's own file has."""
    models = {
        name: replace(catalogue.models[name], takes_key=False)
        for name, table in given.items()
        if "url" in table and name.partition("/")[0] in own
    }
    return replace(catalogue, models={**catalogue.models, **models}) if models else catalogue


def merge_entries(catalogue: Catalogue, own: Mapping[str, Mapping[str, Json]], where: str) -> Catalogue:
    """A catalogue with the entries of a file over its own, key by key. Pure."""
    models = dict(catalogue.models)
    providers = dict(catalogue.providers)
    for name, table in own.items():
        path = f'models."{name}"'
        changes = read_table(table, ENTRY, where, path)
        provider, _, model = name.partition("/")
        if not (provider and model):
            raise ConfigError(
                f"{where}: `{path}` should be named `provider/name`", hint='such as `[models."ollama/qwen3"]`'
            )
        if provider not in providers:
            if "url" not in changes:
                raise ConfigError(
                    f"{where}: `{path}` names an unknown provider `{provider}`",
                    hint=suggest(provider, providers, more="or give its `url`"),
                )
            providers[provider] = Provider(name=provider, key=key_variable(provider))
        base = models.get(name) or Catalogue(catalogue.date, providers).entry(name)
        models[name] = _changed(base, changes, where, path)
    return Catalogue(catalogue.date, providers, models)


def price_table(entry: ModelEntry, *, prompt: int = 0) -> PriceTable:
    """An entry's prices as a table of `holdfast.prices`: multiples of the price of uncached input.

    Where only prices are known, the cache is assumed to be short-lived; without a price for reading there is none.
    """
    price = entry.price_of(prompt)
    if price is None or not price.input:
        raise ConfigError(
            f"the price of `{entry.name}` is not known",
            hint=f'set it in holdfast.toml: `[models."{entry.name}"]` with `price = {{ input = 1, output = 5 }}`',
        )
    is_cached = price.cache_read is not None
    return PriceTable(
        name=entry.name,
        # Rounded, so that 0.2 / 2 and 0.02 / 0.2 give the same table.
        read=round(price.read / price.input, 6),
        write=round(price.write / price.input, 6),
        output=round(price.output / price.input, 6),
        life_seconds=(entry.cache_seconds or CAUTIOUS_SECONDS) if is_cached else 0,
        minimum_tokens=(entry.cache_minimum or CAUTIOUS_MINIMUM) if is_cached else 0,
        about=f"{entry.name}: input ${price.input:g}, output ${price.output:g} a million tokens",
        date=entry.date,
    )


def request_cost(entry: ModelEntry, usage: Usage) -> float | None:
    """Dollars of one request, None if its price is unknown. `usage.prompt` includes the cached tokens."""
    parts = cost_parts(entry, usage)
    return None if parts is None else sum(astuple(parts))


def cost_parts(entry: ModelEntry, usage: Usage) -> CostParts | None:
    """The same by what the dollars are for."""
    price = entry.price_of(usage.prompt)
    if price is None or (usage.searches and entry.search_price is None):
        return None
    plain = max(0, usage.prompt - usage.cache_read - usage.cache_write)
    return CostParts(
        reads=usage.cache_read * price.read / MILLION,
        writes=usage.cache_write * price.write / MILLION,
        plain=plain * price.input / MILLION,
        output=usage.completion * price.output / MILLION,
        searches=usage.searches * (entry.search_price or 0.0) / THOUSAND,
    )


def model_lookup(catalogue: Catalogue, own: Iterable[tuple[str, ModelEntry]] = ()) -> ModelLookup:
    """Finds models by our name, by the provider's name, or by the latter with a date, as providers report it. `own`
    are models by the names under which they are asked; they come first."""
    by_name: dict[str, ModelEntry] = {}
    for entry in catalogue.models.values():
        by_name.setdefault(entry.model, entry)
    by_name |= catalogue.models
    for name, entry in own:
        by_name |= {one: entry for one in (name, entry.name, entry.model) if one}

    def lookup(name: str) -> ModelEntry | None:
        return by_name.get(name) or by_name.get(_DATED.sub("", name))

    return lookup


def key_variable(provider: str) -> str:
    """The default variable of a provider's key: `house` has `HOUSE_API_KEY`."""
    return "".join(c if c.isalnum() else "_" for c in provider).upper() + "_API_KEY"


def _changed(base: ModelEntry, changes: dict[str, Json], where: str, path: str) -> ModelEntry:
    given = {**changes, "origin": where, "date": None}
    kinds: tuple[tuple[str, type[Price]], ...] = (("price", Price), ("beyond", LongPromptPrice))
    for key, kind in kinds:
        if key in changes:
            given[key] = _priced(kind, getattr(base, key), changes[key], f"{where}: `{path}.{key}`")
    entry: ModelEntry = replace(base, **given)
    words = OFF_WORDS[entry.protocol]
    if "thinking_off" in changes and entry.thinking_off not in words:
        raise ConfigError(
            f"{where}: `{path}.thinking_off` cannot be `{entry.thinking_off}` in the protocol `{entry.protocol}`",
            hint=f"it can be {', '.join(f'`{word}`' for word in words)}",
        )
    return entry


def _priced(kind: type[Price], base: Price | None, changes: dict[str, Json], what: str) -> Price:
    known = asdict(base) if base else {}
    needed = ("input", "output", "tokens") if kind is LongPromptPrice else ("input", "output")
    for key in needed:
        if key not in {**known, **changes}:
            raise ConfigError(
                f"{what} has no `{key}`", hint=f"it needs {', '.join(f'`{k}`' for k in needed)}"
            )
    return kind(**{**known, **changes})


@cache
def _built_in() -> Catalogue:
    table = tomllib.loads(files("holdfast.models").joinpath(FILE).read_text("utf-8"))
    providers = {}
    for name, given in table["providers"].items():
        fields = {"key": key_variable(name), **read_table(given, PROVIDER, FILE, f"providers.{name}")}
        fields["defaults"] = ModelEntry(**fields.get("defaults", {}))
        providers[name] = Provider(name=name, **fields)
    catalogue = Catalogue(table["date"], providers)
    written = merge_entries(catalogue, table["models"], FILE).models
    models = {name: replace(entry, origin=BUILT_IN, date=table["date"]) for name, entry in written.items()}
    return Catalogue(table["date"], providers, models)
