"""/model against a server on loopback: what can be asked, and what cannot."""

import pytest

from holdfast.errors import ConfigError, InputError
from holdfast.models.catalogue import load_catalogue
from support.coding_sessions import CodingSetup, run
from support.list_server import listing

SERVED = {"data": [{"id": "qwen-small", "max_model_len": 32_768}, {"id": "qwen-large"}]}


@pytest.fixture
def setup(tmp_path, monkeypatch):
    for provider in load_catalogue().providers.values():
        monkeypatch.delenv(provider.key, raising=False)
        if provider.url_variable:
            monkeypatch.delenv(provider.url_variable, raising=False)
    monkeypatch.delenv("HOLDFAST_CONFIG", raising=False)
    found = CodingSetup(tmp_path)
    yield found
    found.close()


def test_models_that_answer_are_listed_and_keys_that_are_missing_named(setup, monkeypatch):
    with listing(SERVED) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        text = run(setup.open(), "/model").text
    assert "This session uses `scripted/model`." in text
    assert "`ANTHROPIC_API_KEY`" in text
    assert "`OPENAI_API_KEY`" not in text, "an address of one's own needs no key"
    rows = [line for line in text.splitlines() if line.startswith("| `openai/")]
    assert rows
    assert all("not listed" in row for row in rows)
    assert "| `anthropic/" not in text


def test_a_server_of_ones_own_says_what_it_serves(setup):
    with listing(SERVED) as server:
        config = f'[models."house/qwen-small"]\nurl = "{server.url}"\nwindow = 32768\n'
        (setup.root / "holdfast.toml").write_text(config)
        text = run(setup.open(), "/model").text
        assert "| `house/qwen-small` | 32,768 |" in text
        assert run(setup.open(), "/model house/qwen-small").model == "house/qwen-small"


def test_a_model_of_ones_own_without_an_address_hides_no_others(setup):
    with listing(SERVED) as server:
        config = (
            f'[models."house/qwen-small"]\nurl = "{server.url}"\n[models."compatible/mine"]\nwindow = 9000\n'
        )
        (setup.root / "holdfast.toml").write_text(config)
        text = run(setup.open(), "/model").text
    assert "| `house/qwen-small` |" in text
    assert "compatible/mine" not in text


def test_a_model_that_a_server_has_is_taken(setup):
    with listing(SERVED) as server:
        name = f"compatible/qwen-large@{server.url}"
        shown = run(setup.open(), f"/model {name}")
        assert shown.model == name
        assert "`compatible/qwen-large`" in shown.text
        assert [path for path, _ in server.seen] == ["/v1/models"]


def test_a_model_that_a_server_has_not_is_refused_with_the_nearest(setup):
    with listing(SERVED) as server, pytest.raises(InputError, match="has no model `qwen-larg`") as error:
        run(setup.open(), f"/model compatible/qwen-larg@{server.url}")
    assert "`compatible/qwen-large`" in error.value.hint


def test_a_server_that_does_not_answer_is_said(setup):
    with pytest.raises(InputError, match="its provider does not answer"):
        run(setup.open(), "/model compatible/qwen@http://127.0.0.1:9/v1")


def test_a_model_without_its_key_is_refused_with_the_variable(setup):
    name = next(name for name, entry in load_catalogue().models.items() if entry.provider == "anthropic")
    with pytest.raises(ConfigError, match="`ANTHROPIC_API_KEY` is not set"):
        run(setup.open(), f"/model {name}")


def test_a_known_model_with_its_key_is_taken_without_asking_anyone(setup, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-" + "1" * 30)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    name = next(name for name, entry in load_catalogue().models.items() if entry.provider == "anthropic")
    shown = run(setup.open(), f"/model {name}")
    assert shown.model == name
    assert "1" * 30 not in shown.text


@pytest.mark.parametrize("name", ["claude-opus", "anthropik/claude"])
def test_a_name_that_is_nearly_known_gets_the_nearest(setup, name):
    with pytest.raises(ConfigError) as error:
        run(setup.open(), f"/model {name}")
    assert "did you mean" in error.value.hint


def test_a_name_that_is_near_nothing_gets_the_providers(setup):
    with pytest.raises(ConfigError) as error:
        run(setup.open(), "/model nobody/none")
    assert error.value.hint.startswith("there are: anthropic, openai")
