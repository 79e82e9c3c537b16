"""`holdfast models`: the list, the keys, and who answers, over real sockets on loopback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import holdfast, process

from holdfast.models.catalogue import load_catalogue
from support.free_port import free_port
from support.list_server import listing
from support.provider_server import serving

CATALOGUE = load_catalogue()
KEY = "sk-loopback-0123456789"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in CATALOGUE.providers.values():
        monkeypatch.delenv(provider.key, raising=False)
        if provider.url_variable:
            monkeypatch.delenv(provider.url_variable, raising=False)


def test_every_model_with_window_price_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    done = holdfast("models")
    assert done.code == 0
    lines = {line.split()[0]: line for line in done.text.split("\n") if line}
    assert set(CATALOGUE.models) < set(lines)
    assert re.fullmatch(
        r"anthropic/claude-opus-5-5 +1,000,000 +4 +0\.2 +20  yes", lines["anthropic/claude-opus-5-5"]
    )
    assert lines["openai/gpt-6-luna"].endswith("  no")
    assert re.fullmatch(r"ollama/… +\? +–", lines["ollama/…"])
    assert "compatible/…" not in lines
    assert max(map(len, lines.values())) <= 80
    assert "reached" not in lines["model"]
    assert "OPENAI_API_KEY" in done.err
    assert "ANTHROPIC_API_KEY" not in done.err
    assert str(CATALOGUE.date) in done.err
    assert KEY not in done.text + done.err


def test_one_provider_or_one_model() -> None:
    assert len(holdfast("models", "deepseek").text.strip().split("\n")) == 3
    (row,) = holdfast("models", "anthropic/claude-next", "--check", "--json").json["models"]
    assert (row["model"], row["window"], row["price"], row["protocol"]) == (
        "anthropic/claude-next",
        0,
        None,
        "messages",
    )
    assert row["missing"] == "set ANTHROPIC_API_KEY"
    assert "has no address" in holdfast("models", "compatible").err


@pytest.mark.parametrize(
    ("given", "sentence", "hint"),
    [
        ("anthropc", "there is no provider `anthropc`", "did you mean `anthropic`?"),
        ("claude-opus-5.5", "there is no provider `claude-opus-5.5`", "`anthropic/claude-opus-5-5`?"),
        ("anthropic/claude-opus-9", "no model `anthropic/claude-opus-9`", "anthropic/claude-opus-5-5, "),
    ],
)
def test_a_name_that_is_not_there_gets_the_nearest(given: str, sentence: str, hint: str) -> None:
    done = holdfast("models", given)
    assert (done.code, done.out) == (2, b"")
    error, tip = done.err.strip().split("\n")
    assert sentence in error
    assert hint in tip


def test_json_has_all_that_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "holdfast.toml").write_text(
        'default_model = "house/big"\n[models."house/big"]\nurl = "http://10.0.0.7/v1"\nwindow = "64k"\n'
        '[models."openai/gpt-6-luna"]\nwindow = 1000\n'
    )
    monkeypatch.setenv("HOUSE_API_KEY", KEY)
    done = holdfast("models", "--json")
    told = done.json
    assert (told["date"], told["chosen"]) == (str(CATALOGUE.date), "house/big")
    rows = {row["model"]: row for row in told["models"]}
    haiku, luna, house = (rows[n] for n in ("anthropic/claude-haiku-5-5", "openai/gpt-6-luna", "house/big"))
    assert haiku["beyond"] == {
        "input": 0.5,
        "output": 2.5,
        "cache_read": 0.05,
        "cache_write": 0.625,
        "tokens": 100_000,
    }
    assert (haiku["key"], haiku["key_set"], haiku["reachable"], haiku["listed"]) == (
        "ANTHROPIC_API_KEY",
        False,
        None,
        None,
    )
    assert (haiku["origin"], haiku["missing"]) == ("built in", "set ANTHROPIC_API_KEY")
    assert (luna["window"], luna["origin"]) == (1_000, str(tmp_path / "holdfast.toml"))
    assert (house["window"], house["key"], house["key_set"], house["missing"]) == (
        64_000,
        "HOUSE_API_KEY",
        True,
        "",
    )
    assert KEY not in done.text + done.err
    assert "the chosen model is `house/big`" in holdfast("models").err


def test_without_check_nothing_touches_the_network() -> None:
    with serving() as server:
        done = holdfast("models", f"ollama/x@{server.openai_url}")
    assert done.code == 0
    assert server.connections == 0


def test_check_asks_and_says_who_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed = f"http://127.0.0.1:{free_port()}/v1"
    with serving(models=("gpt-6-luna", "gpt-6-sol")) as server, listing(status=401) as locked:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", locked.url)
        (tmp_path / "holdfast.toml").write_text(
            "".join(
                f'[models."{p}/own"]\nurl = "{closed}"\n' for p in ("ollama", "vllm", "llamacpp", "lmstudio")
            )
        )
        done = holdfast("models", "--check")
    assert done.code == 0
    cells = {line.split()[0]: line.split()[-2:] for line in done.text.split("\n") if line}
    assert cells["openai/gpt-6-luna"] == ["yes", "yes"]
    assert cells["openai/gpt-6.1-sol"] == ["not", "listed"]
    assert cells["ollama/own"] == ["–", "no"]
    assert cells["deepseek/deepseek-flash"] == ["no", "–"]
    assert cells["anthropic/claude-opus-5-5"] == ["–", "no"]
    assert "hint: ollama: " in done.err
    assert "hint: anthropic: it needs a key: set `ANTHROPIC_API_KEY`" in done.err
    assert max(map(len, done.text.split("\n"))) <= 80
    # One question for all models of a provider, and none for those without a key.
    assert len(server.requests) == 1
    assert len(locked.seen) == 1
    assert KEY not in done.text + done.err


def test_check_lists_what_a_local_server_has(tmp_path: Path) -> None:
    with listing({"data": [{"id": "qwen3:8b", "max_model_len": 40_960}, {"id": "glm"}]}) as server:
        (tmp_path / "holdfast.toml").write_text(f'[models."here/…"]\nurl = "{server.url}"\n')
        rows = holdfast("models", "here", "--check", "--json").json["models"]
        one = holdfast("models", f"ollama/glm@{server.url}", "--check")
        none = holdfast("models", f"ollama/gone@{server.url}", "--check", "--json")
    assert [(row["model"], row["window"], row["reachable"]) for row in rows] == [
        ("here/glm", 0, True),
        ("here/qwen3:8b", 40_960, True),
    ]
    assert (one.code, one.text.split()[-1]) == (0, "yes")
    assert none.code == 1
    assert none.json["models"][0]["missing"] == "the provider does not list it"


def test_a_named_model_that_does_not_answer_is_a_no() -> None:
    done = holdfast("models", f"ollama/x@http://127.0.0.1:{free_port()}/v1", "--check")
    assert done.code == 1
    assert "cannot be reached" in done.err
    assert holdfast("models", "openai", "--check").code == 1
    assert holdfast("models", "openai").code == 0


@pytest.mark.parametrize(
    ("name", "sentence", "hint"),
    [
        ("anthropc/x", "there is no provider `anthropc`", "did you mean `anthropic`?"),
        ("compatible/x", "`compatible/x` has no address", "compatible/x@http://127.0.0.1:8000/v1"),
    ],
)
def test_a_name_that_is_none(name: str, sentence: str, hint: str) -> None:
    done = holdfast("models", name)
    assert done.code == 2
    assert sentence in done.err
    assert hint in done.err


def test_a_model_of_ones_own_without_an_address_hides_no_others(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('[models."compatible/mine"]\nwindow = 9000\n')
    done = holdfast("models")
    assert done.code == 0
    assert "anthropic/claude-opus-5-5" in done.text


def test_a_file_that_is_wrong_is_named(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('[models."openai/x"]\nwindow = "wide"\n')
    done = holdfast("models")
    assert done.code == 2
    assert '`models."openai/x".window` should be a number of tokens' in done.err


@pytest.mark.slow
def test_the_list_loads_no_network() -> None:
    code = (
        "import sys; from holdfast.cli.app import run; run(['models']); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not set(done.stderr.decode().split()) & {"httpx2", "asyncio", "ssl", "splintr", "sqlite3"}


@pytest.mark.slow
def test_names_are_completed(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('[models."deepseek/own"]\nwindow = 1000\n')

    def completed(word: str) -> list[str]:
        env = {**os.environ, "_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": f"holdfast models {word}"}
        done = process(env={**env, "COMP_CWORD": "2"})
        return [line.partition(",")[2] for line in done.text.split("\n") if line]

    assert completed("deepseek/") == [
        "deepseek/",
        "deepseek/deepseek-flash",
        "deepseek/deepseek-v4-pro",
        "deepseek/own",
    ]
    assert completed("olla") == ["ollama/"]
    (tmp_path / "holdfast.toml").write_text("[models]\nx = 1\n")
    assert completed("olla") == []
