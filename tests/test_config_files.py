"""A person's own configuration under a project's: what counts, where each value is from, and whose file it is."""

from pathlib import Path

import pytest

from holdfast.agents.resolved_config import configured_effort, configured_servers, load_permissions
from holdfast.agents.trust import apply_trust
from holdfast.config import load_config, resolve_profile
from holdfast.errors import ConfigError
from holdfast.models.catalogue import load_catalogue
from holdfast.models.selection import model_name, resolve_model
from holdfast.user_folders import config_folder, data_folder


class Places:
    """A project, and a person's own folder beside it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.own = folder / "config" / "holdfast" / "holdfast.toml"
        self.own.parent.mkdir(parents=True)
        self.file = self.root / "holdfast.toml"
        self.env = {"XDG_CONFIG_HOME": str(folder / "config")}

    def config(self, own="", project="", **env):
        for path, text in ((self.own, own), (self.file, project)):
            if text:
                path.write_text(text)
        return load_config(cwd=self.root, env={**self.env, **env})


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path)


@pytest.mark.parametrize(
    ("env", "platform", "config", "data"),
    [
        ({}, "linux", ".config/holdfast", ".local/share/holdfast"),
        ({}, "darwin", "Library/Application Support/holdfast", "Library/Application Support/holdfast"),
        ({}, "win32", "AppData/Roaming/holdfast", "AppData/Local/holdfast"),
        ({"XDG_CONFIG_HOME": "relative", "XDG_DATA_HOME": "b"}, "linux", ".config/holdfast", None),
        ({"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}, "linux", "/c/holdfast", "/d/holdfast"),
        (
            {"XDG_CONFIG_HOME": "/c", "APPDATA": "/r", "LOCALAPPDATA": "/l"},
            "win32",
            "/r/holdfast",
            "/l/holdfast",
        ),
    ],
)
def test_the_folders_of_each_platform(env, platform, config, data):
    assert config_folder(env, platform) == Path.home() / config
    assert data is None or data_folder(env, platform) == Path.home() / data


def test_the_project_beats_the_person_and_the_environment_beats_both(places):
    own = 'default_model = "a/own"\ndefault_effort = "high"\n[profile.house]\nwindow = "64k"\nkeep = 5\n'
    config = places.config(own, 'default_model = "a/team"\n[profile.house]\nkeep = 7\n')
    assert model_name("", config, {}) == "a/team"
    assert model_name("", config, {"HOLDFAST_MODEL": "a/variable"}) == "a/variable"
    assert configured_effort(config, {}) == "high"
    profile = resolve_profile(config, {"HOLDFAST_WINDOW": "48k"}, "house").profile
    assert (profile.keep, profile.window) == (7, 48_000)
    assert resolve_profile(config, {}, "house").profile.window == 64_000
    assert config.source("default_model") == config.source("profiles", "house", "keep") == str(places.file)
    assert config.source("default_effort") == config.source("profiles", "house", "window") == str(places.own)
    assert config.source("default_profile") == ""


def test_the_own_file_counts_without_a_project(places):
    config = places.config('store = "logs.db"\n')
    assert config.is_own
    assert config.store == str(places.own.parent / "logs.db")


def test_rules_add_up_and_deny_wins(places):
    own = '[permissions]\nmode = "edit"\nallow = ["Bash(make:*)"]\ndeny = ["Bash(git push:*)"]\n'
    places.config(
        own, '[permissions]\nask = ["Edit(db/**)"]\ndeny = ["Read(secrets/**)"]\nsandbox = "bubblewrap"\n'
    )
    _, permissions, distrust = load_permissions(places.root, places.env)
    assert distrust == ""
    assert [rule.text for rule in permissions.commands.allow] == ["Bash(make:*)"]
    assert [rule.text for rule in (*permissions.commands.deny, *permissions.deny, *permissions.ask)] == [
        "Bash(git push:*)",
        "Read(secrets/**)",
        "Edit(db/**)",
    ]
    assert (permissions.mode, permissions.sandbox) == ("edit", "bubblewrap")


def test_only_the_project_needs_trust(places):
    own = '[permissions]\nallow = ["Bash(make:*)"]\nnetwork = true\n[mcp.servers.mine]\ncommand = "mine"\n'
    team = '[permissions]\nallow = ["Bash(sh:*)"]\n[mcp.servers.theirs]\ncommand = "theirs"\n'
    config = places.config(own, team)
    kept, note = apply_trust(config, places.own.parent, trusts=False)
    assert note.startswith(f"{places.file} sets `permissions.allow`, `mcp.servers`, which")
    assert kept.permissions == {"allow": ["Bash(make:*)"], "network": True}
    assert list(configured_servers(kept)) == ["mine"]
    trusted, note = apply_trust(config, places.own.parent, trusts=True)
    assert (list(configured_servers(trusted)), note) == (["mine", "theirs"], "")
    assert apply_trust(config, places.own.parent, trusts=False)[0].permissions == trusted.permissions


@pytest.mark.parametrize(
    ("own", "project", "holds"),
    [
        ('mode = "plan"', 'mode = "ask"', False),
        ('mode = "auto"', 'mode = "ask"', True),
        ('mode = "edit"', 'mode = "plan"', True),
        ('sandbox = "bubblewrap"', 'sandbox = "auto"', False),
        ('sandbox = "off"', 'sandbox = "auto"', True),
        ('sandbox = "auto"', 'sandbox = "landlock"', True),
    ],
)
def test_what_is_wider_than_the_person_chose_needs_trust(places, own, project, holds):
    config = places.config(f"[permissions]\n{own}\n", f"[permissions]\n{project}\n")
    kept, note = apply_trust(config, places.own.parent, trusts=False)
    key = own.split()[0]
    assert kept.permissions[key] == (project if holds else own).split('"')[1]
    assert bool(note) is not holds


def test_a_server_is_taken_whole(places):
    own = '[mcp.servers.docs]\ncommand = "docs"\nenv = { TOKEN = "$SECRET" }\n'
    config = places.config(own, '[mcp.servers.docs]\nurl = "https://docs.example/mcp"\n')
    trusted, _ = apply_trust(config, places.own.parent, trusts=True)
    assert trusted.servers == {"docs": {"url": "https://docs.example/mcp"}}
    assert list(configured_servers(trusted)) == ["docs"]


@pytest.mark.parametrize(
    ("own", "project", "fails"),
    [
        (
            'default_effort = "much"\n',
            'default_model = "a/b"\n',
            lambda config: configured_effort(config, {}),
        ),
        ('[models."house/a"]\nwindow = "no"\n', '[models."house/a"]\nurl = "http://h/v1"\n', load_catalogue),
        ("[mcp.servers.a]\n", '[mcp.servers.b]\ncommand = "b"\n', configured_servers),
        (
            '[profile.classic]\nkeep = 2\n[profile.house]\nextends = "classic"\nworth = "hand"\n',
            "[profile.house]\nkeep = 9\n",
            lambda config: resolve_profile(config, {}, "house"),
        ),
    ],
    ids=["effort", "model", "server", "profile"],
)
def test_an_error_names_the_file_that_has_it(places, own, project, fails):
    config = places.config(own, project)
    with pytest.raises(ConfigError) as error:
        fails(config)
    assert error.value.message.startswith(f"{places.own}: ")


def test_a_broken_own_file_is_named(places):
    with pytest.raises(ConfigError, match=r"config/holdfast/holdfast\.toml is not valid TOML"):
        places.config("default_model = \n")


def test_an_address_of_a_project_does_not_get_the_key_of_the_persons_own_provider(places):
    own = '[models."house/big"]\nurl = "https://llm.house.example/v1"\n'
    elsewhere = (
        '[models."house/big"]\nurl = "https://elsewhere.example/v1"\n[models."house/other"]\nwindow = "8k"\n'
    )
    env = {"HOUSE_API_KEY": "k"}
    mine = resolve_model("house/big", load_catalogue(places.config(own)), env)
    assert (mine.url, mine.key) == ("https://llm.house.example/v1", "HOUSE_API_KEY")
    theirs = resolve_model("house/big", load_catalogue(places.config(own, elsewhere)), env)
    assert (theirs.url, theirs.key) == ("https://elsewhere.example/v1", "")


def test_a_file_in_the_workspace_is_not_the_persons_own(places, tmp_path):
    places.own.write_text('default_model = "a/b"\n[permissions]\nallow = ["Bash(sh:*)"]\n')
    config = load_config(cwd=tmp_path, env=places.env)
    kept, note = apply_trust(config, places.own.parent, trusts=False)
    assert (kept.default_model, kept.permissions) == ("a/b", {})
    assert f"{places.own} sets `permissions.allow`" in note
    apply_trust(config, places.own.parent, trusts=True)
    assert apply_trust(config, places.own.parent, trusts=False)[0].permissions == {}, (
        "an agent could write it"
    )


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_into_the_workspace_is_not_the_persons_own(places, linked):
    places.own.parent.rmdir()
    inside = places.root / "dotfiles"
    inside.mkdir()
    (inside / "holdfast.toml").write_text('[permissions]\nallow = ["Bash(sh:*)"]\n')
    if linked == "folder":
        places.own.parent.symlink_to(inside)
    else:
        places.own.parent.mkdir()
        places.own.symlink_to(inside / "holdfast.toml")
    kept, note = apply_trust(load_config(cwd=places.root, env=places.env), places.own.parent, trusts=False)
    assert kept.permissions == {}
    assert note


def test_the_file_that_the_variable_names_is_the_persons_own_and_over_the_other(places, tmp_path):
    named = tmp_path / "named.toml"
    named.write_text('default_model = "a/named"\n[permissions]\nmode = "auto"\n')
    config = places.config(
        'default_model = "a/own"\ndefault_effort = "low"\n',
        'default_model = "a/project"\n',
        HOLDFAST_CONFIG=str(named),
    )
    kept, note = apply_trust(config, places.own.parent, trusts=False)
    assert (kept.default_model, kept.default_effort, kept.permissions, note) == (
        "a/named",
        "low",
        {"mode": "auto"},
        "",
    )


def test_in_its_own_folder_the_file_is_read_once(places):
    places.own.write_text('[permissions]\nallow = ["Bash(make:*)"]\n')
    config = load_config(cwd=places.own.parent, env=places.env)
    assert config.layers == (config,)
    assert not config.is_own
