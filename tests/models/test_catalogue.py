"""The catalogue: what it holds, how a file changes it, and the price tables it gives."""

import datetime
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config import Config, parse_config
from holdfast.effort import Effort
from holdfast.errors import ConfigError
from holdfast.models.catalogue import (
    OFF_WORDS,
    Catalogue,
    LongPromptPrice,
    ModelEntry,
    Price,
    key_variable,
    load_catalogue,
    price_table,
)
from holdfast.models.catalogue_keys import ENTRY, PRICE
from holdfast.prices import BUILT_IN, PriceTable

CATALOGUE = load_catalogue()
PAGE = Path(__file__).parents[2] / "docs" / "models.md"
MODELS = list(CATALOGUE.models.values())


def own(text: str, where: str = "holdfast.toml") -> Catalogue:
    return load_catalogue(parse_config(text, where))


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        own(text)
    return caught.value


def named(entry: ModelEntry) -> str:
    return entry.name


@pytest.mark.parametrize("entry", MODELS, ids=named)
def test_an_entry_is_sound(entry: ModelEntry) -> None:
    assert entry.provider in CATALOGUE.providers
    assert entry.window >= 100_000
    assert entry.max_output <= entry.window
    assert entry.date == CATALOGUE.date
    assert entry.origin == "built in"
    assert not entry.url
    price = entry.price
    assert price is not None
    assert 0 < price.input < price.output
    assert price.cache_read is None or price.cache_read < price.input
    assert price.cache_write is None or price.cache_write >= price.input
    if entry.beyond:
        assert entry.beyond.tokens < entry.window
        assert entry.beyond.input > price.input
        assert (entry.beyond.cache_read is None) == (price.cache_read is None)
    if entry.protocol == "chat":
        assert entry.thinking in ("no", "effort", "switch")
    assert entry.thinking_off in OFF_WORDS[entry.protocol]
    if entry.thinking_off != "default":
        assert entry.thinking in ("adaptive", "effort")
        # Whoever always thinks can only be told to think little, and whoever does not need not think at all.
        assert entry.always_thinks is (entry.thinking_off == "low")
    assert ("off" in entry.levels) is (entry.thinking != "no" and not entry.always_thinks)
    if entry.levels:
        assert entry.effort in entry.levels
        assert entry.effort_for(None) == entry.effort


def test_every_provider_that_was_asked_for_is_there() -> None:
    hosted = {"anthropic", "openai", "deepseek", "moonshot", "qwen", "mistral", "google"}
    local = {"vllm", "ollama", "llamacpp", "lmstudio"}
    assert {entry.provider for entry in MODELS} == hosted
    assert {name for name, one in CATALOGUE.providers.items() if one.is_local and one.url} == local
    assert all(one.url.startswith("https://") for name, one in CATALOGUE.providers.items() if name in hosted)
    assert all(
        one.url.startswith("http://127.0.0.1:") for n, one in CATALOGUE.providers.items() if n in local
    )
    assert {one.key for one in CATALOGUE.providers.values()} >= {"ANTHROPIC_API_KEY", "GEMINI_API_KEY"}
    assert CATALOGUE.date > datetime.date(2026, 1, 1)


def test_each_group_of_models_says_where_its_figures_are_from() -> None:
    text = files("holdfast.models").joinpath("catalogue.toml").read_text("utf-8")
    provider, commented = "", False
    for line in text.split("\n"):
        if line.startswith("# "):
            commented = True
        elif line.startswith("[models."):
            name = line.split('"')[1].partition("/")[0]
            assert name == provider or commented, f"{name} has no source"
            provider, commented = name, False


def test_an_unknown_model_has_its_providers_defaults_and_no_window() -> None:
    entry = CATALOGUE.entry("anthropic/claude-next")
    assert (entry.window, entry.price, entry.protocol) == (0, None, "messages")
    assert (entry.thinking, entry.cache_seconds) == ("adaptive", 300)
    local = CATALOGUE.entry("vllm/Qwen/Qwen3-8B")
    assert (local.provider, local.model, local.protocol, local.system) == (
        "vllm",
        "Qwen/Qwen3-8B",
        "chat",
        "merged",
    )


def test_a_file_changes_single_keys_of_an_entry() -> None:
    changed = own(
        '[models."anthropic/claude-haiku-5-5"]\nwindow = "200k"\nprice = { cache_read = 0.02 }\n'
        "beyond = { tokens = 50_000 }\n"
    )
    entry, before = (one.models["anthropic/claude-haiku-5-5"] for one in (changed, CATALOGUE))
    assert entry.window == 200_000
    assert entry.price == Price(input=0.1, output=0.5, cache_read=0.02, cache_write=0.125)
    assert entry.beyond == LongPromptPrice(
        tokens=50_000, input=0.5, output=2.5, cache_read=0.05, cache_write=0.625
    )
    assert (entry.max_output, entry.protocol) == (before.max_output, before.protocol)
    assert (entry.origin, entry.date) == ("holdfast.toml", None)
    others = {name: one for name, one in changed.models.items() if name != entry.name}
    assert others == {name: one for name, one in CATALOGUE.models.items() if name != entry.name}
    assert load_catalogue() == CATALOGUE


@pytest.mark.parametrize(
    ("name", "word", "protocol", "others"),
    [
        ("anthropic/claude-opus-5-5", "none", "messages", "`disabled`, `between_tools`, `low`"),
        ("openai/gpt-6-luna", "disabled", "responses", "`none`, `minimal`, `low`"),
        ("ollama/x", "between_tools", "chat", "`none`, `minimal`, `low`"),
    ],
)
def test_a_model_is_told_not_to_think_in_words_of_its_protocol(
    name: str, word: str, protocol: str, others: str
) -> None:
    error = refused(f'[models."{name}"]\nthinking_off = "{word}"\n')
    assert f'`models."{name}".thinking_off` cannot be `{word}` in the protocol `{protocol}`' in error.message
    assert others in error.hint


def test_a_file_adds_models_and_providers() -> None:
    added = own(
        '[models."ollama/qwen3"]\nwindow = 32_768\ntools = false\n'
        '[models."house/big"]\nurl = "http://10.0.0.7:8000/v1"\nprotocol = "messages"\nthinking = "budget"\n'
        "price = { input = 1, output = 2 }\n"
    )
    assert added.models["ollama/qwen3"].system == "merged"
    assert not added.models["ollama/qwen3"].tools
    big = added.models["house/big"]
    assert (big.url, big.protocol, big.price) == (
        "http://10.0.0.7:8000/v1",
        "messages",
        Price(input=1.0, output=2.0),
    )
    assert added.providers["house"].key == "HOUSE_API_KEY"
    assert "house" not in CATALOGUE.providers


def test_without_models_of_its_own_a_configuration_changes_nothing() -> None:
    assert load_catalogue(Config()) is CATALOGUE


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "window = true",
            '`models."a/b".window` should be a number of tokens such as `200_000` or `200k`, found true',
        ),
        ('window = "many"', "found the text `many`"),
        ("max_output = -1", '`models."a/b".max_output` should be'),
        (
            'price = { input = "1", output = 2 }',
            '`models."a/b".price.input` should be a number of at least 0',
        ),
        ("price = { input = nan, output = 2 }", '`models."a/b".price.input`'),
        ("price = { input = true, output = 2 }", '`models."a/b".price.input`'),
        ("price = { input = 1 }", '`models."a/b".price` has no `output`'),
        ("beyond = { input = 1, output = 2 }", '`models."a/b".beyond` has no `tokens`'),
        ("price = 3", '`models."a/b".price` should be a table'),
        ('protocol = "smtp"', "should be one of `messages`, `responses`, `chat`, found the text `smtp`"),
        ("protocol = []", "should be one of `messages`, `responses`, `chat`, found a list"),
        ('thinking = "deep"', "should be one of `no`, `adaptive`, `budget`, `effort`, `switch`"),
        ('tools = "no"', "should be true or false, found the text `no`"),
        ("note = 1", "should be text, found the number 1"),
        ('url = "ftp://x"', "should be an address such as"),
        ('url = "http://"', "should be an address such as"),
        ("windwo = 1", 'unknown key `models."a/b".windwo`'),
        ("price = { inputs = 1 }", 'unknown key `models."a/b".price.inputs`'),
    ],
)
def test_what_a_file_gets_wrong_is_said_in_one_sentence(text: str, sentence: str) -> None:
    error = refused(f'[models."a/b"]\n{text}\n' + 'url = "http://a/v1"\n' * ("url" not in text))
    assert error.message.startswith("holdfast.toml: ")
    assert sentence in error.message
    assert "\n" not in error.message


def test_names_and_providers_that_are_none_are_refused() -> None:
    assert "should be named `provider/name`" in refused('[models."gpt"]\nwindow = 1\n').message
    assert "should be named" in refused('[models."/x"]\nwindow = 1\n').message
    error = refused('[models."anthropc/x"]\nwindow = 1\n')
    assert "unknown provider `anthropc`" in error.message
    assert "`anthropic`" in error.hint
    assert "should be a table" in refused("[models]\nx = 1\n").message
    assert "should be a table" in refused("models = 1\n").message
    nearest = refused('[models."a/b"]\nwindwo = 1\n').hint
    assert nearest == "did you mean `window`?"


def test_every_key_of_an_entry_can_be_written_in_a_file() -> None:
    assert set(ENTRY) == set(ModelEntry.__struct_fields__) - {"name", "origin", "date", "takes_key"}
    assert set(PRICE) == set(Price.__struct_fields__)


def test_a_pyproject_may_speak_of_models_too() -> None:
    text = '[tool.holdfast]\ndefault_model = "ollama/x"\n[tool.holdfast.models."ollama/x"]\nwindow = 9000\n'
    config = parse_config(text, "pyproject.toml", section=("tool", "holdfast"))
    assert config.default_model == "ollama/x"
    assert load_catalogue(config).models["ollama/x"].window == 9_000


def test_a_price_table_is_the_ratios_of_an_entry() -> None:
    table = price_table(CATALOGUE.models["anthropic/claude-opus-5-5"])
    deep = BUILT_IN["deep-discount"]
    assert (table.read, table.write, table.output) == (deep.read, deep.write, deep.output)
    assert (table.life_seconds, table.minimum_tokens) == (deep.life_seconds, deep.minimum_tokens)
    assert (table.name, table.date) == ("anthropic/claude-opus-5-5", CATALOGUE.date)
    sonnet, standard = price_table(CATALOGUE.models["anthropic/claude-sonnet-5-5"]), BUILT_IN["standard"]
    assert (sonnet.read, sonnet.write, sonnet.output) == (standard.read, standard.write, standard.output)


def test_a_long_prompt_has_a_table_of_its_own() -> None:
    astra = CATALOGUE.models["openai/gpt-6-astra"]
    assert astra.price_of(272_000) == astra.price
    assert astra.price_of(272_001) == astra.beyond
    assert price_table(astra).output == 5.0
    assert price_table(astra, prompt=300_000).output == 3.75


def test_a_price_table_says_no_more_than_is_known() -> None:
    plain = ModelEntry(name="a/b", price=Price(input=2.0, output=6.0))
    assert price_table(plain) == PriceTable(
        "a/b", 1.0, 1.0, 3.0, 0, 0, "a/b: input $2, output $6 a million tokens"
    )
    cached = ModelEntry(name="a/b", price=Price(input=2.0, output=6.0, cache_read=0.5))
    assert (price_table(cached).read, price_table(cached).write, price_table(cached).life_seconds) == (
        0.25,
        1,
        300,
    )
    for entry in (ModelEntry(name="a/b"), ModelEntry(name="a/b", price=Price(input=0.0, output=0.0))):
        with pytest.raises(ConfigError, match="the price of `a/b` is not known") as caught:
            price_table(entry)
        assert '[models."a/b"]' in caught.value.hint


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("house", "HOUSE_API_KEY"), ("my-host.eu", "MY_HOST_EU_API_KEY")],
)
def test_the_variable_of_a_key(provider: str, variable: str) -> None:
    assert key_variable(provider) == variable


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "window": st.integers(0, 10**7),
    "max_output": st.integers(0, 10**7),
    "tools": st.booleans(),
    "always_thinks": st.booleans(),
    "temperature": st.booleans(),
    "thinking": st.sampled_from(["no", "effort", "switch"]),
    "thinking_off": st.sampled_from(["default", "low"]),
    "note": st.text(),
}


@given(st.fixed_dictionaries({}, optional=VALUES), st.sampled_from(sorted(CATALOGUE.models)))
def test_what_a_file_says_holds_and_nothing_else_changes(changes: dict[str, Any], name: str) -> None:
    entry = load_catalogue(Config(where="f", models={name: changes})).models[name]
    before = CATALOGUE.models[name]
    for key in ModelEntry.__struct_fields__:
        if key in changes:
            assert getattr(entry, key) == changes[key]
        elif key not in ("origin", "date"):
            assert getattr(entry, key) == getattr(before, key)


def test_the_file_is_read_as_it_stands() -> None:
    text = files("holdfast.models").joinpath("catalogue.toml").read_text("utf-8")
    assert list(tomllib.loads(text)["models"]) == list(CATALOGUE.models)


def test_the_page_on_models_names_every_key_and_provider() -> None:
    page = PAGE.read_text("utf-8")
    rows = [line.split(" | ") for line in page.split("\n") if line.startswith("| `")]
    keys = {key for row in rows if len(row) == 2 for key in re.findall(r"`(\w+)`", row[0])}
    assert keys == set(ENTRY)
    providers = {one: row for row in rows if len(row) == 3 for one in re.findall(r"`(\w+)`", row[0])}
    assert set(providers) == set(CATALOGUE.providers)
    for name, (_, spoken, key) in providers.items():
        provider = CATALOGUE.providers[name]
        assert key.strip(" |") == ("none needed" if provider.is_local else f"`{provider.key}`")
        assert spoken.startswith({"chat": "chat completions"}.get(p := provider.defaults.protocol, p))
    variables = {one.key for one in CATALOGUE.providers.values()} | {"HOLDFAST_MODEL", "HOUSE_API_KEY"}
    variables |= {one.url_variable for one in CATALOGUE.providers.values()} - {""}
    assert set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", page)) == variables
    (example,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert own(example).models["house/big"].window == 128_000


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        (None, "medium"),
        ("off", "low"),
        ("low", "low"),
        ("medium", "medium"),
        ("xhigh", "high"),
        ("max", "max"),
    ],
)
def test_an_effort_that_a_model_lacks_is_the_next_lower_one(wanted: Effort | None, sent: Effort) -> None:
    text = 'always_thinks = true\nthinking = "effort"\nefforts = ["max", "low", "high", "medium"]\n'
    entry = load_catalogue(parse_config(f'[models."ollama/a"]\n{text}', "f")).models["ollama/a"]
    assert entry.levels == ("low", "medium", "high", "max")
    assert entry.effort_for(wanted) == sent


def test_levels_follow_from_how_a_model_thinks() -> None:
    def levels(text: str) -> tuple[str, ...]:
        return load_catalogue(parse_config(f'[models."ollama/a"]\n{text}', "f")).models["ollama/a"].levels

    assert levels("") == ()
    assert levels('thinking = "switch"') == ("off", "high")
    assert levels('thinking = "effort"') == ("off", "low", "medium", "high")
    assert ModelEntry().effort_for("max") == "off"


def test_levels_that_do_not_exist_are_refused() -> None:
    for wrong in ('"high"', '["off"]', '["much"]', "[1]"):
        error = refused(f'[models."ollama/a"]\nefforts = {wrong}\n')
        assert '`models."ollama/a".efforts` should be a list of `low`' in error.message
