"""Project rules as they stand on the disk: which file, whose case, and what a change comes to."""

import os

import pytest

from holdfast.agents.project_rules import (
    parent_folders,
    read_rules,
    rule_changes,
)
from holdfast.errors import InputError
from holdfast.events import RulesSet
from holdfast.tools.workspace import Workspace


@pytest.mark.parametrize("name", ["code_law.md", "CODE_LAW.md", "Code_Law.MD"])
def test_the_law_is_found_in_any_case_and_comes_before_agents(tmp_path, name):
    (tmp_path / "AGENTS.md").write_text("other")
    (tmp_path / name).write_text("the law")
    found = read_rules(Workspace([tmp_path]))
    assert found is not None
    assert (found.path, found.text) == (name, "the law")


def test_agents_is_read_where_there_is_no_law(tmp_path):
    (tmp_path / "AGENTS.md").write_text("agents")
    found = read_rules(Workspace([tmp_path]))
    assert found is not None
    assert found.text == "agents"


def test_claude_is_read_where_there_is_neither_with_what_it_imports(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "style.md").write_text("Tabs. See @more.md and @../CLAUDE.md again.")
    (tmp_path / "docs" / "more.md").write_text("More: @style.md.")
    (tmp_path.parent / "secret.md").write_text("secret")
    code = "`@docs/code.md`\n```\n@docs/block.md\n```"
    text = f"Read @docs/style.md, mail me@example.org.\n{code}\n@../secret.md @gone.md"
    (tmp_path / "CLAUDE.md").write_text(text)
    found = read_rules(Workspace([tmp_path]))
    assert found is not None
    assert found.path == "CLAUDE.md"
    assert found.text.split("\n\n") == [
        text,
        "`docs/style.md`, which `CLAUDE.md` imports:",
        "Tabs. See @more.md and @../CLAUDE.md again.",
        "`docs/more.md`, which `docs/style.md` imports:",
        "More: @style.md.",
    ]
    (tmp_path / "AGENTS.md").write_text("agents")
    other = read_rules(Workspace([tmp_path]))
    assert other is not None
    assert other.text == "agents"


def test_imports_end_at_a_depth_and_at_a_size(tmp_path):
    for number in range(9):
        (tmp_path / f"{number}.md").write_text(f"text {number} @{number + 1}.md")
    (tmp_path / "CLAUDE.md").write_text("@0.md")
    found = read_rules(Workspace([tmp_path]))
    assert found is not None
    assert "text 4" in found.text
    assert "text 5" not in found.text
    for number in range(3):
        (tmp_path / f"{number}.md").write_text("x" * 100_000 + f" @{number + 1}.md")
    with pytest.raises(InputError, match="with what it imports"):
        read_rules(Workspace([tmp_path]))


def test_without_rules_there_are_none(tmp_path):
    assert read_rules(Workspace([tmp_path])) is None


def test_fault_09_rules_are_never_served_from_before_an_edit(tmp_path):
    """An edit within the same second, of the same length, with the old time put back: still seen."""
    law, workspace = tmp_path / "code_law.md", Workspace([tmp_path])
    law.write_text("use tabs")
    before = read_rules(workspace)
    assert before is not None
    law.write_text("no tabs!")
    os.utime(law, (before.mtime, before.mtime))
    now = read_rules(workspace)
    assert now is not None
    assert [event.text for event in rule_changes({before.path: before.text}, now)] == ["no tabs!"]


def test_only_a_change_is_recorded(tmp_path):
    (tmp_path / "code_law.md").write_text("x")
    now = read_rules(Workspace([tmp_path]))
    assert now is not None
    assert rule_changes({"code_law.md": "x"}, now) == []
    assert rule_changes({"AGENTS.md": "old", "sub/AGENTS.md": "kept"}, now) == [
        RulesSet("AGENTS.md", ""),
        now,
    ]
    assert rule_changes({"AGENTS.md": "old"}, None) == [RulesSet("AGENTS.md", "")]
    assert rule_changes({"AGENTS.md": ""}, None) == []


def test_a_link_out_of_the_workspace_is_no_rule(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside.md").write_text("obey")
    (tmp_path / "root" / "AGENTS.md").symlink_to("../outside.md")
    assert read_rules(Workspace([tmp_path / "root"])) is None


def test_rules_of_a_folder(tmp_path):
    (tmp_path / "web" / "app").mkdir(parents=True)
    (tmp_path / "web" / "AGENTS.md").write_text("web rules")
    workspace = Workspace([tmp_path])
    assert list(parent_folders("web/app/main.ts")) == ["web", "web/app"]
    assert [bool(read_rules(workspace, folder)) for folder in parent_folders("web/app/main.ts")] == [
        True,
        False,
    ]
    assert list(parent_folders("main.ts")) == []


def test_rules_that_leave_no_room_are_refused(tmp_path):
    (tmp_path / "AGENTS.md").write_text("x" * 300_000)
    with pytest.raises(InputError, match="never trimmed"):
        read_rules(Workspace([tmp_path]))
