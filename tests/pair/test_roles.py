"""Pairs as values: the built-in one, those of users, and what is wrong with one."""

import re
from pathlib import Path

import pytest

from holdfast.agents.coding.tool_state import ToolState
from holdfast.agents.pair.role_session import ROLE_TOOLS, define_tools, hand_over_tool
from holdfast.errors import ConfigError
from holdfast.events import ToolsSet
from holdfast.packing.counting.tokens import compact_json
from holdfast.packing.profile import BUILT_IN
from holdfast.pair.folder import Outputs
from holdfast.pair.handover import OF_DESIGN
from holdfast.pair.roles import (
    HandoverForm,
    Role,
    built_in_pair,
    check_tools,
    load_pair,
    parse_pair,
)
from holdfast.pair.stop_rules import StopRules
from holdfast.recall import RECALL_TOOL
from holdfast.tokenizers import counter_for_model
from holdfast.tools.ask_user import NoAnswer
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.recall import recall_tool
from holdfast.tools.shell.sandbox import Bubblewrap, Landlock, Unconfined
from holdfast.tools.shell.shell import Shell
from holdfast.tools.skill_files import Skills
from holdfast.tools.todo_write import TodoList
from support.pair_runs import PLANNER_WORKER, PairRun, hand_over, pair_of, write

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
    pair = built_in_pair()
    init, execute = pair.roles
    assert (init.profile, execute.profile) == ("init", "execute")
    assert "opus" in init.model
    assert "sonnet" in execute.model
    assert (BUILT_IN["init"].trigger, BUILT_IN["execute"].trigger) == (150_000, 700_000)
    assert (BUILT_IN["init"].keep, BUILT_IN["execute"].keep) == (3, 5)


@pytest.mark.parametrize("number", [0, 1])
def test_prompts_take_about_two_thousand_tokens(number):
    count = counter_for_model("anthropic/claude-opus-5-5").text
    assert 1_500 <= count(built_in_pair().roles[number].prompt) <= 2_200


def defined_to(role, sandbox):
    """Texts and schemas of a role's tools, as its session has them."""
    recall = recall_tool(RECALL_TOOL, lambda _: ("", False))
    state = ToolState(SeenFiles(), Shell(sandbox=sandbox), TodoList(), Skills([]), recall)
    tools = [tool for tool in state.tools(NoAnswer()) if tool.name in {*role.tools, "Recall"}]
    state.close()
    return [
        tool.definition
        for tool in define_tools(
            [*tools, hand_over_tool(lambda _: ())], role.definitions, OF_DESIGN if role.measures else ()
        )
    ]


@pytest.mark.parametrize(
    "sandbox", [Unconfined(), Bubblewrap("/usr/bin/bwrap"), Landlock(4)], ids=lambda s: s.name
)
def test_definitions_of_tools_take_about_a_thousand_tokens(sandbox):
    count = counter_for_model("anthropic/claude-opus-5-5").text
    for role, most in zip(built_in_pair().roles, (1_000, 1_150), strict=True):
        found = defined_to(role, sandbox)
        assert len(found) == len(role.tools) + 2
        taken = sum(count(one.description) + count(compact_json(one.schema)) for one in found)
        assert 700 <= taken <= most, role.name


def test_a_role_says_whether_its_tools_are_defined_in_short(tmp_path):
    text = PLANNER_WORKER.replace(
        'tools = ["Read", "Write"]', 'definitions = "short"\ntools = ["Read", "Write"]'
    )
    pair_run = PairRun(tmp_path, pair_of(text))
    planner, worker = pair_run.pair.roles
    assert (planner.definitions, worker.definitions) == ("short", "full")
    first = [write("plan.md", "Plan.\n"), hand_over("plan.md", design=["plan.md"])]
    pair_run.run(first, [hand_over("plan.md", verdict="stop")])
    kept = {
        role.name: [e.event.tools for e in pair_run.entries(role.name) if isinstance(e.event, ToolsSet)]
        for role in pair_run.pair.roles
    }
    for role, model in zip(pair_run.pair.roles, pair_run.models, strict=True):
        (tools,) = kept[role.name]
        assert model.requests[0].tools == tools, "what was sent is what the log keeps"
        wanted = {tool.name: tool for tool in defined_to(role, Unconfined())}
        assert {tool.name: tool for tool in tools} == wanted


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
    assert author.definitions == "full"
    assert pair.stop.target == 1.0
    assert pair.other("author") is tester


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('name = "tester"', 'name = "author"', "both roles are called `author`"),
        ('name = "tester"', 'name = "Tester!"', "`Tester!` is not a valid name"),
        ('requires = ["design"]', 'requires = ["desing"]', "`author` requires `desing`"),
        ('prompt = "You write."', 'prompt = " "', "`author` has no prompt"),
        ('prompt_file = "tester.md"', 'prompt_file = "no.md"', "the prompt `no.md` cannot be read"),
        ("target = 1.0", "taget = 1.0", "unknown field `taget`"),
        ("window = 32000", 'window = "much"', "window"),
        ("window = 32000", 'definitions = "terse"', "terse"),
        ('name = "author_tester"', 'name = "x"\noutputs = { folder = "../up" }', "leads out of the folder"),
        ("[[roles]]", "[[rolls]]", "there are no roles"),
        ("[stop]", "[stop", "not valid TOML"),
    ],
    ids=[
        "same",
        "name",
        "requires",
        "prompt",
        "file",
        "key",
        "kind",
        "definitions",
        "outside",
        "roles",
        "toml",
    ],
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
    check_tools(pair, ROLE_TOOLS)
    assert ", ".join(sorted(ROLE_TOOLS)) in text
    for kind in (StopRules, Outputs, HandoverForm, Role):
        for field in kind.__struct_fields__:
            assert f"`{field}`" in text or f"{field} =" in block[1], field


def test_a_tool_that_there_is_not(tmp_path):
    pair = load_pair(written(tmp_path, OWN))
    check_tools(pair, ["Read", "Write", "Bash"])
    with pytest.raises(ConfigError, match="`Bash`, which does not exist") as error:
        check_tools(pair, ["Read", "Write", "BashOutput"])
    assert "BashOutput" in error.value.hint
