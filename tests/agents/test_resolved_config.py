"""How an agent is configured: by options, environment and configuration, each over the next."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.agents import model_choice, resolved_config
from holdfast.agents.coding import coding_session
from holdfast.agents.coding.coding_session import open_coding_session
from holdfast.agents.limits import RunLimits
from holdfast.agents.model_choice import NoModel, local_servers
from holdfast.agents.notices import unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.resolved_config import make_agent_config, resolve_config
from holdfast.agents.sessions import begin_session, newest_session, resume_session, sessions_in
from holdfast.errors import ConfigError, HoldfastError, NotFound
from holdfast.events import LogStarted, UserSaid
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.models.catalogue import Catalogue, Provider, load_catalogue
from holdfast.models.scripted import ScriptedModel
from holdfast.store import MemoryStore
from holdfast.tools.shell.sandbox import Unconfined
from support.provider_server import serving

OPUS = "anthropic/claude-opus-5-5"
KEY = {"ANTHROPIC_API_KEY": "correct-horse"}
SERVER = Path(__file__).parents[1] / "support" / "mcp_hostile.py"


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """A busy machine may need longer than a person would wait."""
    monkeypatch.setattr(model_choice, "SECONDS", 60.0)
    monkeypatch.setattr(coding_session, "SERVER_SECONDS", 60.0)


def resolved(root, text="", env=None, **options):
    (root / "holdfast.toml").write_text(text)
    home = {"XDG_CONFIG_HOME": str(root.parent / "config"), "XDG_DATA_HOME": str(root.parent / "data")}
    return resolve_config(
        AgentOptions(root=root, **{"model": OPUS, "sandbox": "off", "trusts": True, **options}),
        {**KEY, **home, **(env or {})},
    )


def test_the_window_and_the_prices_are_those_of_the_model(root):
    found = resolved(root)
    assert found.profile.window == 200_000, "the profile's, where the model has more"
    small = resolved(root, '[models."ollama/tiny"]\nwindow = 8_192\n', model="ollama/tiny")
    assert small.profile.window == 8_192
    assert small.is_local, "a server of this machine answers one request at a time"
    assert not found.is_local
    with MemoryStore() as store:
        configs = [make_agent_config(one, store, "", RunLimits(), unwatched) for one in (small, found)]
    assert [config.compacts_in_background for config in configs] == [False, True]
    price = found.entry.price
    assert found.profile.cache_read == pytest.approx(price.cache_read / price.input)
    assert found.profile.cache_write == pytest.approx(price.cache_write / price.input)
    mine = resolved(root, "[profile.house]\ncache_read = 0.5\n", profile="house")
    assert (mine.profile.cache_read, mine.profile.name) == (0.5, "house")
    assert resolved(root, env={"HOLDFAST_CACHE_READ": "0.7"}).profile.cache_read == 0.7
    assert resolved(root, budget=32_000).profile.window == 32_000


def test_the_window_of_a_server_of_ones_own_is_asked_for(root):
    with serving(models=("big",)) as server:
        found = resolved(root, model=f"compatible/big@{server.openai_url}")
        assert server.requests[0].path == "/v1/models"
    assert "the window of `compatible/big` is not known; 200000 tokens are assumed" in found.notes


def test_where_the_store_is(root, tmp_path):
    assert resolved(root).store == tmp_path / "data" / "holdfast" / "store.db"
    assert resolved(root, 'store = "here.db"\n').store == root / "here.db"
    assert resolved(root, 'store = "here.db"\n', {"HOLDFAST_STORE": "/else.db"}).store == Path("/else.db")
    assert resolved(root, env={"HOLDFAST_STORE": "/else.db"}, store=Path("/mine.db")).store == Path(
        "/mine.db"
    )


def test_a_rule_approved_for_good_holds_for_the_next_agent_in_this_project(root, tmp_path):
    with MemoryStore() as store:
        config = make_agent_config(resolved(root), store, "", RunLimits(), unwatched)
    config.rule_keeper.keep(["Bash(npm install:*) with network"], "folder")
    with (tmp_path / "config" / "holdfast" / "approved-rules.jsonl").open("a") as file:
        file.write(f'{{"root": "{root}", "allow": "Bash(a rule of another version"}}\n')
    found = resolved(root).permissions.commands.allow
    assert [rule.text for rule in found] == ["Bash(npm install:*) with network"]


def test_an_agent_without_a_sandbox_says_so_and_what_it_means(root, monkeypatch):
    monkeypatch.setattr(
        resolved_config, "find_sandbox", lambda _wanted: Unconfined("bubblewrap: not installed")
    )
    (note,) = [one for one in resolved(root, sandbox="auto").notes if "sandbox" in one]
    assert "bubblewrap: not installed" in note
    assert "Only commands that read, or that a rule allows, run unasked" in note
    monkeypatch.undo()
    assert not [one for one in resolved(root, sandbox="off").notes if "sandbox" in one]


def test_permissions_and_rules_of_the_command_line(root):
    text = '[permissions]\nmode = "edit"\nallow = ["Bash(make:*)"]\nnetwork = true\n'
    found = resolved(root, text, allow=("Edit(src/**)", "Bash(ls)"))
    assert found.permissions.mode == "edit"
    assert [rule.text for rule in found.permissions.allow] == ["Edit(src/**)"]
    assert len(found.permissions.commands.allow) == 2
    with pytest.raises(ConfigError, match="names no tool"):
        resolved(root, allow=("Nope(x)",))


def test_a_sandbox_that_is_insisted_on_is_there_or_an_error(root, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HoldfastError, match="bubblewrap"):
        resolved(root, sandbox="bubblewrap")
    assert not any("sandbox" in note.lower() for note in resolved(root).notes), "it was wished off"


def test_no_model_and_no_key(root):
    with pytest.raises(NoModel) as nothing:
        resolved(root, model="", env={"ANTHROPIC_API_KEY": "", "OLLAMA_HOST": ""})
    assert "no model is chosen" in nothing.value.message
    assert "no key of a provider is set" in nothing.value.found
    assert "`holdfast tour`" in nothing.value.hint
    with pytest.raises(NoModel, match="export OPENAI_API_KEY=…") as keyless:
        resolved(root, model="openai/gpt-6-luna")
    assert "`ANTHROPIC_API_KEY` is set (`--model anthropic/" in keyless.value.found


def test_a_server_on_this_machine_is_found():
    with serving(models=("qwen3",)) as server:
        local = Provider(name="here", url=server.openai_url, key="HERE_API_KEY", is_local=True)
        found = local_servers(Catalogue(load_catalogue().date, {"here": local}), {})
    assert found == {server.openai_url: "here/qwen3"}


def test_a_limit_of_dollars_needs_a_price(root):
    with pytest.raises(ConfigError, match="the price of `openai/unheard-of` is not known"):
        resolved(root, model="openai/unheard-of", env={"OPENAI_API_KEY": "x"}, limits=RunLimits(dollars=1.0))


def opened(root, text="", **options):
    """Open and close a session; what was there to see meanwhile."""
    (root / "holdfast.toml").write_text(text)

    async def work():
        asked = AgentOptions(
            root=root, store=root.parent / "store.db", sandbox="off", **{"trusts": True, **options}
        )
        env = {"XDG_CONFIG_HOME": str(root.parent / "config"), "PATH": "/usr/bin:/bin"}
        one = await open_coding_session(asked, model=ScriptedModel("Hello."), env=env)
        try:
            names = [tool.name for tool in one.coding.agent.toolbox]
            return one.notes, names, one.coding.session.log.entries()[0].event
        finally:
            await one.close()

    return asyncio.run(work())


def test_a_session_with_a_server_and_skills_of_ones_own(root):
    skill = root.parent / "config" / "holdfast" / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: Greets.\n---\nSay hello.\n")
    (skill.parent / "broken").mkdir()
    (skill.parent / "broken" / "SKILL.md").write_text("no head\n")
    servers = f'[mcp.servers.good]\ncommand = "{sys.executable}"\nargs = ["{SERVER}", "tame"]\n'
    servers += '[mcp.servers.bad]\ncommand = "no-such-program"\n'
    notes, names, started = opened(root, servers, title="Say  hello\nto me")
    assert any(name.startswith("mcp__good__") for name in names), notes
    assert "Skill" in names
    assert any(note.startswith("the MCP server `bad` cannot be used: ") for note in notes)
    assert any("broken" in note for note in notes)
    assert isinstance(started, LogStarted)
    assert (started.title, started.source) == ("Say hello to me", "holdfast")
    assert started.meta == {"root": str(root.resolve()), "model": "scripted/model"}
    assert (root.parent / "store.db.snapshots").is_dir()


def test_servers_that_cannot_be_read_are_an_error_with_its_place(root):
    with pytest.raises(ConfigError, match=r"\[mcp.servers.x\] needs either `command` or `url`"):
        opened(root, "[mcp.servers.x]\n")
    with pytest.raises(ConfigError, match=r"unknown key `mcp.server`"):
        opened(root, "[mcp.server.x]\n")


def said(store, root, text="", at=1.0, **more):
    log = Log.open(store, begin_session(store, root, **more))
    if text:
        log.append(UserSaid((Text(text),)), at=at)
    return log.id


def test_sessions_are_found_by_their_folder(tmp_path):
    store, here, there = MemoryStore(), tmp_path / "here", tmp_path / "there"
    older, newer, empty = said(store, here, "a", 9e9), said(store, here, "b", 8e9), said(store, here)
    other = said(store, there, "c", 9.5e9)
    Log.create(store, source="import", meta={"root": str(here)})
    assert [info.head.id for info in sessions_in(store, here)] == [older, newer], (
        "the one that went on last first"
    )
    assert newest_session(store, there) == other
    assert resume_session(store, there, empty)[0] == empty
    with pytest.raises(NotFound, match="there is no session in"):
        newest_session(store, tmp_path)
    with pytest.raises(NotFound):
        resume_session(store, there, "l0000000")


WIDE = """
[permissions]
mode = "auto"
allow = ["Bash(make:*)"]
deny = ["Read(secrets/**)"]
[mcp.servers.x]
command = "x"
"""


def test_a_projects_file_may_narrow_but_not_widen_until_it_is_trusted(root):
    found = resolved(root, WIDE, trusts=False)
    assert found.permissions.mode == "ask"
    assert found.permissions.commands.allow == ()
    assert [rule.text for rule in found.permissions.deny] == ["Read(secrets/**)"]
    assert found.config.servers == {}
    assert "`permissions.mode`, `permissions.allow`, `mcp.servers`" in found.notes[0]


def test_trust_is_remembered_for_that_very_text(root):
    assert resolved(root, WIDE, trusts=True).permissions.mode == "auto"
    assert resolved(root, WIDE, trusts=False).permissions.mode == "auto"
    assert resolved(root, WIDE.replace("[mcp", "# remark\n[mcp"), trusts=False).permissions.mode == "auto"
    changed = WIDE.replace("make", "curl")
    assert resolved(root, changed, trusts=False).permissions.mode == "ask"


def test_a_file_that_the_person_names_is_the_persons_own(root):
    found = resolved(root, WIDE, trusts=False, env={"HOLDFAST_CONFIG": "holdfast.toml"})
    assert found.permissions.mode == "auto"
    assert not any("by itself" in note for note in found.notes)


HOOKED = """
[[hooks.after_tool]]
match = "Edit"
command = "python3 check.py"
"""


def test_a_projects_hooks_run_only_when_trusted(root):
    assert resolved(root, HOOKED, trusts=False).hooks == ()
    assert (
        "sets `hooks`, which a project may not do by itself" in resolved(root, HOOKED, trusts=False).notes[0]
    )
    assert [one.command for one in resolved(root, HOOKED, trusts=True).hooks] == ["python3 check.py"]
    assert [one.command for one in resolved(root, HOOKED, trusts=False).hooks] == ["python3 check.py"]
    assert resolved(root, HOOKED.replace("Edit", "*"), trusts=False).hooks == ()


def test_trust_in_a_hook_ends_when_the_file_that_it_names_changes(root):
    (root / "check.py").write_text("print()")
    assert resolved(root, HOOKED, trusts=True).hooks
    assert resolved(root, HOOKED, trusts=False).hooks
    (root / "check.py").write_text("import os")
    assert resolved(root, HOOKED, trusts=False).hooks == ()


def test_hooks_of_a_file_that_the_person_names_need_no_trust(root):
    assert resolved(root, HOOKED, trusts=False, env={"HOLDFAST_CONFIG": "holdfast.toml"}).hooks


def test_hooks_of_the_persons_own_file_need_no_trust_and_come_first(root):
    own = root.parent / "config" / "holdfast" / "holdfast.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[[hooks.stop]]\ncommand = "notify"\n')
    assert [one.command for one in resolved(root, HOOKED, trusts=False).hooks] == ["notify"]
    found = resolved(root, HOOKED).hooks
    assert [(one.command, one.folder) for one in found] == [("notify", root), ("python3 check.py", root)]
