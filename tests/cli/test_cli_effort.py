"""How much a model thinks, on the command line, against a provider on loopback."""

import json

import pytest
from command_line import holdfast

from holdfast.effort import parse_effort
from holdfast.errors import ConfigError
from holdfast.messages import Thinking
from support.agent_runs import bodies, call, environment, repository, says
from support.provider_server import serving

TABLE = (
    '[models."anthropic/levels"]\nwindow = 200_000\nefforts = ["low", "medium", "max"]\neffort = "medium"\n'
)


def use_repository(folder, monkeypatch, config):
    root = repository(folder)
    (root / "holdfast.toml").write_text(config)
    monkeypatch.chdir(root)
    for name, value in {**environment(root), "ANTHROPIC_API_KEY": "k"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, "medium"),
        ({"config": "low"}, "low"),
        ({"config": "low", "variable": "max"}, "max"),
        ({"config": "low", "variable": "max", "option": "medium"}, "medium"),
        ({"option": "high"}, "medium"),
    ],
)
def test_the_option_beats_the_variable_and_the_variable_the_configuration(tmp_path, monkeypatch, given, sent):
    default = f'default_effort = "{given["config"]}"\n' if "config" in given else ""
    use_repository(tmp_path, monkeypatch, default + TABLE)
    monkeypatch.setenv("HOLDFAST_EFFORT", given.get("variable", ""))
    option = ["--effort", given["option"]] if "option" in given else []
    with serving(says("Hello.")) as server:
        name = f"anthropic/levels@{server.url}"
        done = holdfast("run", "--model", name, "--sandbox", "off", "-p", "Hi.", *option)
    assert done.code == 0, done.err
    (body,) = bodies(server)
    assert body["output_config"] == {"effort": sent}
    assert body["thinking"]["display"] == "summarized"
    is_other = given.get("option") not in (None, sent)
    assert ("has no level `high`: it thinks at `medium`" in done.err) is is_other


@pytest.mark.parametrize(("off", "is_said"), [("", True), ('thinking_off = "disabled"\n', False)])
def test_a_run_says_where_a_model_may_think_all_the_same(tmp_path, monkeypatch, off, is_said):
    use_repository(tmp_path, monkeypatch, TABLE + off)
    with serving(says("Hello.")) as server:
        name = f"anthropic/levels@{server.url}"
        done = holdfast("run", "--model", name, "--sandbox", "off", "-p", "Hi.", "--effort", "off")
    assert ("how to turn off the thinking of `anthropic/levels` is not known" in done.err) is is_said
    assert ("thinking" in bodies(server)[0]) is not is_said


def test_what_is_no_level_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="`default_effort` should be a level of thinking") as error:
        parse_effort("hihg", "holdfast.toml: `default_effort`")
    assert "did you mean `high`?" in error.value.hint
    assert parse_effort(" High ", "x") == "high"
    assert parse_effort("", "x") is None
    assert holdfast("run", "-p", "x", "--effort", "most").code == 2


def test_thinking_is_shown_and_kept_verbatim(tmp_path, monkeypatch):
    """A reply with thinking goes into the log, and back to the provider with its signature."""
    use_repository(tmp_path, monkeypatch, TABLE)
    thought = Thinking("First I read it.", signature="c2lnbmVk")
    with serving(says(thought, call("Read", "r", path="main.py")), says("Old.")) as server:
        name = f"anthropic/levels@{server.url}"
        arguments = ("--model", name, "--sandbox", "off", "-p", "Hi.", "--stream-json", "--partial")
        done = holdfast("run", *arguments)
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert any("First I read it." in str(line) for line in lines)
    block = bodies(server)[1]["messages"][1]["content"][0]
    assert block == {"type": "thinking", "thinking": "First I read it.", "signature": "c2lnbmVk"}
