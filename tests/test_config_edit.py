"""Changes to a configuration file: what a person wrote stays, and nothing half-written is left."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.edit import add_rule, edit_file, remove_rule, set_default
from holdfast.errors import ConfigError

RULE = "Bash(make 'a \"b\"':*)"
TEXTS = [
    "",
    "# mine\ndefault_model = 'a/b' # why\n\n[profile.x]\nkeep = 3\n",
    '[permissions]\n# rules\nallow = [\n    "Bash(a)", # first\n    "Bash(b)",  # second\n]\ndeny = ["x"]\n',
    '[permissions]\nallow = [\n  "Bash(a)",\n  "Bash(b)" # no comma\n]\n',
    '[permissions] # all\nmode = "ask"\n\n# about models\n[models."a/b"]\nwindow = 3\n',
    'permissions.mode = "ask"\n[mcp.servers.a]\ncommand = "a"\n',
    'permissions = { mode = "ask", allow = [] }\n',
    '[settings]\ndefault_model = "a/b"\n[permissions]\nask = []\n',
    '[permissions]\r\nallow = ["Bash(a)"]\r\n',
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_rule_is_added_and_removed_and_all_else_stays(text):
    before = tomllib.loads(text)
    added = add_rule(text, "allow", RULE)
    rules = [*before.get("permissions", {}).get("allow", []), RULE]
    assert tomllib.loads(added) == {
        **before,
        "permissions": {**before.get("permissions", {}), "allow": rules},
    }
    assert [line for line in text.splitlines() if "#" in line and line not in added.splitlines()] in (
        [],
        ['  "Bash(b)" # no comma'],
    )
    assert add_rule(added, "allow", RULE) == added
    assert tomllib.loads(remove_rule(added, "allow", RULE))["permissions"]["allow"] == rules[:-1]


def test_a_new_list_stands_below_the_name_of_its_table():
    text = '[permissions] # all\nmode = "ask"\n\n# about models\n[models."a/b"]\nwindow = 3\n'
    assert add_rule(text, "deny", "Read(x)") == (
        '[permissions] # all\ndeny = ["Read(x)"]\nmode = "ask"\n\n# about models\n[models."a/b"]\nwindow = 3\n'
    )


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_default_is_set_where_it_is(text):
    changed = tomllib.loads(set_default(text, "default_model", "c/d"))
    before = tomllib.loads(text)
    place = changed["settings"] if "settings" in before else changed
    assert place.pop("default_model") == "c/d"
    before.get("settings", before).pop("default_model", None)
    assert changed == before


def test_the_table_of_pyproject():
    text = '[project]\nname = "x"\n\n[tool.holdfast]\nstore = "s"\n'
    added = add_rule(text, "allow", "Read", section=("tool", "holdfast"))
    assert tomllib.loads(added)["tool"]["holdfast"] == {"store": "s", "permissions": {"allow": ["Read"]}}
    assert added.startswith(text)


@pytest.mark.parametrize(
    "text", ['permissions = "none"\n', "[permissions]\nallow = 'Read'\n", "[permissions\n"]
)
def test_what_is_not_understood_is_left_alone(tmp_path, text):
    path = tmp_path / "holdfast.toml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        edit_file(path, lambda before: add_rule(before, "allow", RULE))
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1))
def test_any_text_can_be_a_rule(rule):
    assert tomllib.loads(add_rule(TEXTS[2], "allow", rule))["permissions"]["allow"][-1] == rule


def test_a_file_is_replaced_through_its_link_with_its_mode(tmp_path):
    real = tmp_path / "dotfiles" / "holdfast.toml"
    real.parent.mkdir()
    real.write_text("# kept\n")
    real.chmod(0o600)
    link = tmp_path / "holdfast.toml"
    link.symlink_to(real)
    edit_file(link, lambda text: set_default(text, "default_effort", "high"))
    assert link.is_symlink()
    assert tomllib.loads(real.read_text()) == {"default_effort": "high"}
    assert real.read_text().startswith("# kept\n")
    assert real.stat().st_mode & 0o777 == 0o600
    assert list(real.parent.iterdir()) == [real]


@pytest.mark.parametrize("times", [1, 100])
def test_what_somebody_else_writes_meanwhile_is_not_lost(tmp_path, times):
    path = tmp_path / "holdfast.toml"
    written = []

    def slow(text):
        if len(written) < times:
            written.append(f"# theirs {len(written)}\n")
            path.write_text("".join(written))
        return set_default(text, "default_effort", "high")

    if times == 1:
        edit_file(path, slow)
    else:
        with pytest.raises(OSError, match="being changed by others"):
            edit_file(path, slow)
    assert path.read_text().startswith("".join(written))
    assert ("high" in path.read_text()) is (times == 1)
    assert list(tmp_path.iterdir()) == [path]
