"""What is told of a desk before it is opened is what it is then, or nothing."""

import asyncio

import pytest

from holdfast.agents.coding.foretold import Foretold, foretold
from holdfast.agents.coding.setup import open_desk
from holdfast.agents.coding.wish import Wish
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
        ("", {}, {}, Foretold("", "ask")),
        ("", {"model": LOCAL, "mode": "plan"}, {}, Foretold("compatible/one", "plan")),
        ("", {}, {"HOLDFAST_MODEL": LOCAL}, Foretold("compatible/one", "ask")),
        (f'default_model = "{LOCAL}"', {}, {}, Foretold("compatible/one", "ask")),
        ('[permissions]\nmode = "plan"', {"model": LOCAL}, {}, Foretold("compatible/one", "plan")),
        ('[permissions]\nmode = "auto"', {"model": LOCAL}, {}, Foretold("compatible/one", "ask")),
        ('[permissions]\nmode = "auto"', {"trusts": True}, {}, Foretold("", "auto")),
        ("no table", {"model": LOCAL}, {}, Foretold("compatible/one", "")),
        ('[permissions]\nmode = "all"', {}, {}, Foretold("", "ask")),
    ],
    ids=["nothing", "wished", "variable", "file", "narrowed", "not trusted", "trusted", "broken", "unknown"],
)
def test_model_and_mode(root, file, wished, variables, told):
    (root / "holdfast.toml").write_text(file)
    assert foretold(Wish(root=root, **wished), env(root, **variables)) == told
    assert not (root.parent / "config").exists(), "nothing is changed"


def test_it_is_what_the_desk_says_then(root):
    (root / "holdfast.toml").write_text(f'default_model = "{LOCAL}"\n[permissions]\nmode = "auto"\n')
    wish = Wish(root=root, store=root.parent / "store.db", sandbox="off")

    async def opened():
        open_ = await open_desk(wish, env=env(root))
        try:
            return Foretold(open_.desk.agent.model.name, open_.desk.mode)
        finally:
            await open_.close()

    assert asyncio.run(opened()) == foretold(wish, env(root))
