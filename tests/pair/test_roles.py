"""Pairs as values: the built-in one, those of users, and what is wrong with one."""

import re
from pathlib import Path

import pytest

from holdfast.agents.pairing.desk import TOOLS
from holdfast.errors import ConfigError
from holdfast.packing.profile import BUILT_IN
from holdfast.pair.layout import Outputs
from holdfast.pair.roles import HandoverForm, Role, built_in, check_tools, load_pair, parse_pair
from holdfast.pair.stopping import StopRules
from holdfast.tokenizers import counter_for_model

OWN = """
name = "author_tester"

[[roles]]
name = "author"
prompt = "You write."
tools = ["Read", "Write"]
profile = "init"
handover = { name = "text", requires = ["design"] }

[[roles]]
name = "tester"
prompt_file = "tester.md"
tools = ["Read", "Bash"]
profile = "execute"
model = "local/small"
window = 32000
handover = { name = "verdict" }

[stop]
target = 1.0
"""


def test_init_and_execute():
    pair = built_in()
    init, execute = pair.roles
    assert (init.profile, execute.profile) == ("init", "execute")
    assert "opus" in init.model
    assert "sonnet" in execute.model
    assert (BUILT_IN["init"].trigger, BUILT_IN["execute"].trigger) == (150_000, 700_000)
    assert (BUILT_IN["init"].keep, BUILT_IN["execute"].keep) == (3, 5)


@pytest.mark.parametrize("number", [0, 1])
def test_prompts_take_about_two_thousand_tokens(number):
    count = counter_for_model("anthropic/claude-opus-5-5").text
    assert 1_500 <= count(built_in().roles[number].prompt) <= 2_200


def written(folder, text):
    (folder / "tester.md").write_text("You test.\n")
    path = folder / "pair.toml"
    path.write_text(text)
    return path


def test_a_pair_of_ones_own(tmp_path):
    pair = load_pair(written(tmp_path, OWN))
    author, tester = pair.roles
    assert tester.prompt == "You test."
    assert tester.window == 32_000
    assert author.handover.requires == ("design",)
    assert pair.stop.target == 1.0
    assert pair.other("author") is tester


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('name = "tester"', 'name = "author"', "both roles are called `author`"),
        ('name = "tester"', 'name = "Tester!"', "`Tester!` cannot be a name"),
        ('requires = ["design"]', 'requires = ["desing"]', "`author` requires `desing`"),
        ('prompt = "You write."', 'prompt = " "', "`author` has no prompt"),
        ('prompt_file = "tester.md"', 'prompt_file = "no.md"', "the prompt `no.md` cannot be read"),
        ("target = 1.0", "taget = 1.0", "unknown field `taget`"),
        ("window = 32000", 'window = "much"', "window"),
        ('name = "author_tester"', 'name = "x"\noutputs = { folder = "../up" }', "leads out of the folder"),
        ("[[roles]]", "[[rolls]]", "there are no roles"),
        ("[stop]", "[stop", "no valid TOML"),
    ],
    ids=["same", "name", "requires", "prompt", "file", "key", "kind", "outside", "roles", "toml"],
)
def test_what_is_wrong_is_named(tmp_path, old, new, named):
    with pytest.raises(ConfigError) as error:
        load_pair(written(tmp_path, OWN.replace(old, new)))
    assert named in error.value.message
    assert "pair.toml" in error.value.message


def test_the_pair_of_the_document_is_one_and_the_document_says_all_that_a_pair_has():
    text = (Path(__file__).parents[2] / "docs" / "pair.md").read_text("utf-8")
    block = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert block
    pair = parse_pair(block[1], "docs/pair.md", lambda _: "You test.")
    check_tools(pair, TOOLS)
    assert ", ".join(sorted(TOOLS)) in text
    for kind in (StopRules, Outputs, HandoverForm, Role):
        for field in kind.__struct_fields__:
            assert f"`{field}`" in text or f"{field} =" in block[1], field


def test_a_tool_that_there_is_not(tmp_path):
    pair = load_pair(written(tmp_path, OWN))
    check_tools(pair, ["Read", "Write", "Bash"])
    with pytest.raises(ConfigError, match="`Bash`, which there is not") as error:
        check_tools(pair, ["Read", "Write", "BashOutput"])
    assert "`BashOutput`" in error.value.hint
