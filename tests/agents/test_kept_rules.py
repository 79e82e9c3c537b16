"""Where a rule is kept: which places are offered, what is written there, and what counts afterwards."""

import os
import tomllib

import pytest

from holdfast.agents.approved_rules import approved_rules
from holdfast.agents.kept_rules import KeptRules
from holdfast.agents.resolved_config import load_permissions
from holdfast.errors import ConfigError

WIDE, PATH, WHOLE = "Bash(make test:*)", "Edit(src/**)", "Bash(python x.py)"


class Kept:
    def __init__(self, folder):
        self.root = folder / "project"
        self.root.mkdir()
        self.env = {"XDG_CONFIG_HOME": str(folder / "config")}
        self.own = folder / "config" / "holdfast" / "holdfast.toml"
        self.file = self.root / "holdfast.toml"
        self.rules = KeptRules(self.root, self.env)

    def places(self, *rules):
        return [place.name for place in self.rules.places(rules)]

    def allowed(self, root=None):
        _, permissions, distrust = load_permissions(root or self.root, self.env)
        return [rule.text for rule in (*permissions.commands.allow, *permissions.allow)], distrust


@pytest.fixture
def kept(tmp_path):
    return Kept(tmp_path)


@pytest.mark.parametrize(
    ("rules", "places"),
    [
        ([WIDE], ["folder", "everywhere", "project"]),
        (["Bash(npm install:*) with network"], ["folder", "everywhere", "project"]),
        (["mcp__docs__search"], ["folder", "everywhere", "project"]),
        ([PATH], ["folder", "project"]),
        ([WHOLE], ["folder", "project"]),
        (["Bash(.venv/bin/pytest:*)"], ["folder", "project"]),
        (["Bash(npm run build) with full"], ["folder"]),
        ([WIDE, WHOLE], ["folder", "project"]),
    ],
)
def test_the_places_for_a_rule(kept, rules, places):
    assert kept.places(*rules) == places
    assert not kept.own.parent.exists(), "nothing is written by looking"


def test_for_me_in_this_folder(kept, tmp_path):
    kept.rules.keep([WIDE, PATH], "folder")
    assert approved_rules(kept.own.parent, kept.root) == [WIDE, PATH]
    assert kept.allowed() == ([WIDE, PATH], "")
    assert kept.allowed(tmp_path) == ([], "")


def test_for_me_everywhere(kept, tmp_path):
    kept.own.parent.mkdir(parents=True)
    kept.own.write_text('# mine\n[permissions]\nallow = [\n  "Read",  # looks\n]\n')
    kept.rules.keep([WIDE], "everywhere")
    assert kept.own.read_text() == f'# mine\n[permissions]\nallow = [\n  "Read",  # looks\n  "{WIDE}",\n]\n'
    (tmp_path / "other").mkdir()
    assert kept.allowed(tmp_path / "other") == ([WIDE, "Read"], "")
    kept.rules.remove("allow", WIDE, "everywhere")
    assert kept.own.read_text() == '# mine\n[permissions]\nallow = [\n  "Read",  # looks\n]\n'


def test_for_everyone_in_the_project(kept, tmp_path):
    kept.file.write_text('# ours\ndefault_model = "a/b"\n')
    kept.rules.keep([WIDE], "project")
    assert kept.file.read_text().startswith('# ours\ndefault_model = "a/b"\n')
    assert tomllib.loads(kept.file.read_text())["permissions"] == {"allow": [WIDE]}
    assert kept.allowed() == ([WIDE], ""), "who wrote it trusts it"
    colleague = {"XDG_CONFIG_HOME": str(tmp_path / "colleague")}
    _, permissions, distrust = load_permissions(kept.root, colleague)
    assert permissions.commands.allow == ()
    assert "sets `permissions.allow`" in distrust
    kept.rules.add("deny", "Read(secrets/**)", "project")
    kept.rules.keep([PATH], "project")
    assert kept.allowed() == ([WIDE, PATH], "")
    kept.rules.remove("allow", WIDE, "project")
    assert kept.allowed() == ([PATH], "")


def test_a_strangers_file_is_not_written_to_and_not_trusted(kept):
    kept.file.write_text('[permissions]\nallow = ["Bash(sh:*)"]\n')
    assert kept.places(WIDE) == ["folder", "everywhere"]
    kept.rules.add("deny", "Bash(git push:*)", "project")
    assert kept.allowed()[0] == [], "a change to it does not make the rest count"
    before = kept.file.read_text()
    with pytest.raises(ConfigError, match="which you have not trusted"):
        kept.rules.add("allow", WIDE, "project")
    assert kept.file.read_text() == before
    load_permissions(kept.root, kept.env, trusts=True)
    assert kept.places(WIDE) == ["folder", "everywhere", "project"]


@pytest.mark.parametrize(
    "programs", ['[[hooks.stop]]\ncommand = "notify"\n', '[checks.commands]\nruff = "./lint"\n']
)
def test_programs_of_a_stranger_close_the_projects_file_too(kept, programs):
    kept.file.write_text(programs)
    assert kept.places(WIDE) == ["folder", "everywhere"]
    load_permissions(kept.root, kept.env, trusts=True)
    kept.rules.keep([WIDE], "project")
    assert kept.allowed() == ([WIDE], ""), "what was trusted before is trusted with the rule"


def test_the_table_of_pyproject_is_the_projects_file(kept):
    (kept.root / "pyproject.toml").write_text('[project]\nname = "x"\n\n[tool.holdfast]\nstore = "s"\n')
    assert kept.rules.places([WIDE])[-1].file == "pyproject.toml"
    kept.rules.keep([WIDE], "project")
    assert kept.allowed() == ([WIDE], "")
    assert not kept.file.exists()


def test_the_file_of_a_folder_above_takes_no_path(kept):
    (kept.root.parent / "holdfast.toml").write_text('default_model = "a/b"\n')
    assert kept.places(PATH) == ["folder"]
    assert kept.places(WIDE) == ["folder", "everywhere"], "what one trusts there lies in its folder"


def test_the_file_that_the_variable_names_is_written_to(kept, tmp_path):
    named = tmp_path / "named.toml"
    named.write_text("")
    rules = KeptRules(kept.root, {**kept.env, "HOLDFAST_CONFIG": str(named)})
    rules.keep([WIDE], "project")
    assert tomllib.loads(named.read_text())["permissions"]["allow"] == [WIDE]
    assert not (kept.own.parent / "trusted").exists(), "it is the person's own"


def test_nothing_is_offered_where_an_agent_could_write(tmp_path):
    kept = Kept(tmp_path)
    inside = KeptRules(tmp_path, kept.env)
    assert [place.name for place in inside.places([WIDE])] == []
    with pytest.raises(ConfigError, match="lies in the workspace"):
        inside.add("allow", WIDE, "everywhere")
    with pytest.raises(OSError, match="lies in the workspace"):
        inside.add("allow", WIDE, "folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_cannot_be_written_is_not_offered(kept):
    kept.own.parent.mkdir(parents=True)
    kept.own.parent.chmod(0o500)
    try:
        assert kept.places(WIDE) == ["folder", "project"]
    finally:
        kept.own.parent.chmod(0o700)


def test_a_file_that_is_broken_is_left_alone(kept):
    kept.own.parent.mkdir(parents=True)
    kept.own.write_text("[permissions\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        kept.rules.keep([WIDE], "everywhere")
    assert kept.own.read_text() == "[permissions\n"
