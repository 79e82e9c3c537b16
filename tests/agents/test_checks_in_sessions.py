"""The coding agent's edits with the project's checks around them: what rules and configuration say about these."""

import pytest

from holdfast.agents.trust import apply_trust
from holdfast.config import parse_config
from holdfast.messages import ToolCall
from holdfast.tools.checks.checkers import CheckSettings
from holdfast.tools.permissions.tool_rules import Permissions, parse_permissions
from holdfast.tools.shell.sandbox import Unconfined
from support.coding_sessions import CodingSetup
from support.sandboxes import sandbox_or_skip

WRITE = ToolCall("w1", "Write", {"path": "b.py", "content": "import os\n"})


@pytest.fixture
def setup(tmp_path):
    opened = CodingSetup(tmp_path)
    (opened.root / "ruff.toml").write_text("[lint]\nselect = ['F']\n")
    yield opened
    opened.close()


def written(setup, permissions, sandbox, settings=None):
    """What the model reads of a write."""
    checks = CheckSettings(seconds=60) if settings is None else settings
    coding = setup.open(
        [WRITE], "Done.", permissions=permissions, sandbox=sandbox, checks=checks, mode="edit"
    )
    coding.runner.run(coding.say("Write it."))
    (*_, result) = [m for m in coding.agent.model.requests[-1].messages if type(m).__name__ == "ToolMessage"]
    assert not result.error
    return result.text


def test_a_finding_is_part_of_what_the_model_reads(setup):
    said = written(setup, Permissions(), sandbox_or_skip("bubblewrap"))
    assert "ruff: 1 new finding" in said
    assert "b.py:1:8: F401" in said


@pytest.mark.parametrize(
    ("rules", "is_run"),
    [
        ({}, False),
        ({"allow": ["Bash(ruff check:*)"]}, True),
        ({"allow": ["Bash(ruff check:*)"], "deny": ["Bash(ruff:*)"]}, False),
    ],
)
def test_without_a_sandbox_only_a_rule_runs_a_check(setup, rules, is_run):
    said = written(setup, parse_permissions(rules, "here"), Unconfined("none works"))
    assert ("new finding" in said) is is_run


@pytest.mark.parametrize(
    ("allow", "is_run"),
    [
        (["Bash(ruff check:*)"], False),
        (["Bash(.venv/bin/ruff check:*)"], False),
        (["Bash(ruff check:*)", "Bash(.venv/bin/ruff check:*)"], True),
    ],
)
def test_without_a_sandbox_a_program_of_the_project_needs_a_rule_with_its_place(setup, allow, is_run):
    program = setup.root / ".venv" / "bin" / "ruff"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    written(setup, parse_permissions({"allow": allow}, "here"), Unconfined("none works"))
    assert (setup.root / "ran").exists() is is_run


def test_a_rule_that_denies_a_program_and_the_off_switch_hold_in_a_sandbox(setup):
    denied = parse_permissions({"deny": ["Bash(ruff:*)"]}, "here")
    for permissions, settings in ((denied, None), (Permissions(), CheckSettings(seconds=0))):
        assert "new finding" not in written(setup, permissions, sandbox_or_skip("bubblewrap"), settings)
        (setup.root / "b.py").unlink()


def test_a_projects_own_commands_are_trusted_first(tmp_path):
    text = '[checks]\nseconds = 2\n[checks.commands]\n"*.c" = "make lint"\n'
    config = parse_config(text, str(tmp_path / "project" / "holdfast.toml"))
    own = tmp_path / "own"
    kept, note = apply_trust(config, own, trusts=False)
    assert kept.checks == {"seconds": 2}
    assert "`checks.commands`" in note
    assert apply_trust(config, own, trusts=True)[0] == config
    assert apply_trust(config, own, trusts=False) == (config, "")
    other = parse_config(text.replace("lint", "x"), config.where)
    assert apply_trust(other, own, trusts=False)[0].checks == {"seconds": 2}


def test_what_only_narrows_needs_no_trust(tmp_path):
    config = parse_config("[checks]\nseconds = 0\nskip = ['mypy']\n", "holdfast.toml")
    assert apply_trust(config, tmp_path, trusts=False) == (config, "")
