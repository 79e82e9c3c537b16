"""What is shown of an agent before it is opened is what it has then, or nothing."""

import asyncio

import pytest

from holdfast.agents.coding.coding_session import open_coding_session
from holdfast.agents.options import AgentOptions, AgentPreview, preview_agent
from support.agent_runs import repository

LOCAL = "compatible/one@http://127.0.0.1:9/v1"


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path)


def env(root, **more):
    return {"XDG_CONFIG_HOME": str(root.parent / "config"), **more}


@pytest.mark.parametrize(
    ("file", "wished", "variables", "told"),
    [
        ("", {}, {}, AgentPreview("", "ask")),
        ("", {"model": LOCAL, "mode": "plan"}, {}, AgentPreview("compatible/one", "plan")),
        ("", {}, {"HOLDFAST_MODEL": LOCAL}, AgentPreview("compatible/one", "ask")),
        (f'default_model = "{LOCAL}"', {}, {}, AgentPreview("compatible/one", "ask")),
        ('[permissions]\nmode = "plan"', {"model": LOCAL}, {}, AgentPreview("compatible/one", "plan")),
        ('[permissions]\nmode = "auto"', {"model": LOCAL}, {}, AgentPreview("compatible/one", "ask")),
        ('[permissions]\nmode = "auto"', {"trusts": True}, {}, AgentPreview("", "auto")),
        ("no table", {"model": LOCAL}, {}, AgentPreview("compatible/one", "")),
        ('[permissions]\nmode = "all"', {}, {}, AgentPreview("", "ask")),
    ],
    ids=["nothing", "wished", "variable", "file", "narrowed", "not trusted", "trusted", "broken", "unknown"],
)
def test_model_and_mode(root, file, wished, variables, told):
    (root / "holdfast.toml").write_text(file)
    assert preview_agent(AgentOptions(root=root, **wished), env(root, **variables)) == told
    assert not (root.parent / "config").exists(), "nothing is changed"


def test_it_is_what_the_session_says_then(root):
    (root / "holdfast.toml").write_text(f'default_model = "{LOCAL}"\n[permissions]\nmode = "auto"\n')
    options = AgentOptions(root=root, store=root.parent / "store.db", sandbox="off")

    async def opened():
        open_ = await open_coding_session(options, env=env(root))
        try:
            return AgentPreview(open_.coding.agent.model.name, open_.coding.gate.mode)
        finally:
            await open_.close()

    assert asyncio.run(opened()) == preview_agent(options, env(root))
