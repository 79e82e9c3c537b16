"""`--save`: a model and a level of thinking are kept as the person's default, and what beats them is said."""

import tomllib

import pytest

from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.options import AgentOptions, preview_agent
from holdfast.agents.resolved_config import configured_effort
from holdfast.config import load_config
from holdfast.errors import ConfigError, InputError
from holdfast.models.catalogue import ModelEntry
from support.coding_sessions import CodingSetup, run

ENTRY = ModelEntry(name="test/a", thinking="effort", efforts=("low", "high"), effort="high")
KNOWN = "anthropic/claude-opus-5-5"


@pytest.fixture
def setup(tmp_path, monkeypatch):
    for variable in ("HOLDFAST_MODEL", "HOLDFAST_EFFORT", "HOLDFAST_CONFIG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-" + "1" * 30)
    found = CodingSetup(tmp_path)
    found.env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    found.own = tmp_path / "config" / "holdfast" / "holdfast.toml"
    yield found
    found.close()


def thinking(setup):
    return setup.open(request_settings=RequestSettings(entry=ENTRY))


def test_a_level_is_kept_and_the_file_stays_as_it_was(setup):
    setup.own.parent.mkdir(parents=True)
    setup.own.write_text('# mine\n[permissions]\ndeny = ["Bash(git push:*)"] # never\n')
    coding = thinking(setup)
    answer = run(coding, "/effort low --save")
    assert (answer.effort, coding.agent.effort) == ("low", "low")
    assert f"It is your default from now on: `default_effort` in `{setup.own}`." in answer.text
    assert setup.own.read_text().startswith("# mine\n")
    assert 'deny = ["Bash(git push:*)"] # never' in setup.own.read_text()
    assert configured_effort(load_config(cwd=setup.root, env=setup.env), {}) == "low"
    coding.agent.effort = "high"
    run(coding, "/effort --save")
    assert tomllib.loads(setup.own.read_text())["default_effort"] == "high"


def test_a_model_is_kept(setup):
    coding = setup.open()
    answer = run(coding, f"/model {KNOWN} --save")
    assert answer.model == KNOWN
    assert tomllib.loads(setup.own.read_text()) == {"default_model": KNOWN}
    assert preview_agent(AgentOptions(root=setup.root), setup.env).model == KNOWN


def test_what_beats_a_default_is_said(setup, monkeypatch):
    (setup.root / "holdfast.toml").write_text('default_effort = "high"\n')
    coding = thinking(setup)
    assert (
        f"In this project `{setup.root.resolve() / 'holdfast.toml'}` beats it."
        in run(coding, "/effort low --save").text
    )
    monkeypatch.setenv("HOLDFAST_EFFORT", "off")
    assert "`HOLDFAST_EFFORT` is set, and beats it." in run(coding, "/effort low --save").text


def test_what_is_wrong_is_not_kept(setup):
    coding = thinking(setup)
    for line, error in (("/effort lots --save", InputError), ("/model nobody/none --save", ConfigError)):
        with pytest.raises(error):
            run(coding, line)
    with pytest.raises(ConfigError, match="there is no provider `scripted`"):
        run(coding, "/model --save")
    assert not setup.own.exists()
    setup.own.parent.mkdir(parents=True)
    setup.own.write_text("[broken\n")
    with pytest.raises(ConfigError, match="cannot be changed: it is not valid TOML"):
        run(coding, "/effort low --save")
    assert (coding.agent.effort, setup.own.read_text()) == ("high", "[broken\n")
