"""Own sub-agents: real files, offered to a real agent, which gives them work."""

import pytest

from holdfast.agents.coding.own_sub_agents import load_sub_agents
from holdfast.agents.coding.task import SUB_AGENT_PROMPT, TaskSettings
from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.prompt_files import prompt_folders
from holdfast.events import LogStarted, ToolReturned
from holdfast.log import Log
from holdfast.messages import joined_text
from holdfast.models.catalogue import ModelEntry
from support.coding_sessions import CodingSetup, call, requests, say

SCOUT = """---
name: scout
description: Finds out where something is done.
tools: Read, Grep, Bash(git log:*), WebSearch
model: haiku
effort: low
---
You are a scout. Answer in three lines.
"""
FIXER = """---
description: Repairs one file.
disallowedTools: [Write, Bash]
---
You repair.
"""
ALL_TOOLS = {"LS", "Glob", "Grep", "Read", "Recall"}
ENTRY = ModelEntry(name="test/a", thinking="effort", efforts=("low", "high", "max"), effort="high")


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path)
    yield found
    found.close()


def put(folder, name, text):
    path = folder / "agents" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def task(id_="t", **more):
    return [call("Task", id_, description="look", prompt="Look.", **more)]


def definition(request):
    return next(tool for tool in request.tools if tool.name == "Task")


def names(request):
    return {tool.name for tool in request.tools}


def results(coding):
    return [
        joined_text(e.event.parts) for e in coding.session.log.entries() if isinstance(e.event, ToolReturned)
    ]


def test_kinds_are_offered_and_a_project_without_any_pays_nothing_for_them(setup):
    plain = setup.open("Hi.")
    say(plain, "Go.")
    assert "subagent_type" not in str(definition(requests(plain)[0]))
    put(setup.root / ".claude", "scout", SCOUT)
    put(setup.root / ".holdfast", "fixer", FIXER)
    coding = setup.open("Hi.", log="other")
    say(coding, "Go.")
    offered = definition(requests(coding)[0])
    assert offered.description.endswith(
        "Kinds of sub-agents, for `subagent_type`:\n"
        "- fixer: Repairs one file.\n- scout: Finds out where something is done."
    )
    assert "subagent_type" in offered.schema["properties"]


def test_a_kind_has_its_prompt_and_no_more_tools_than_it_names(setup):
    put(setup.root / ".claude", "scout", SCOUT)
    coding = setup.open(
        task(subagent_type="scout"), "Found.", "Done.", request_settings=RequestSettings(entry=ENTRY)
    )
    say(coding, "Go.")
    inner = requests(coding)[1]
    assert inner.messages[0].text == f"{SUB_AGENT_PROMPT}\n\nYou are a scout. Answer in three lines."
    assert names(inner) == {"Read", "Grep", "Recall"}
    assert [request.effort for request in requests(coding)] == ["high", "low", "high"]
    (started,) = [
        entries[0].event.meta
        for info in setup.store.logs()
        if isinstance((entries := Log.open(setup.store, info.head.id).entries())[0].event, LogStarted)
        and "kind" in entries[0].event.meta
    ]
    assert started["kind"] == "scout"


def test_a_kind_gives_no_tool_that_the_call_did_not_ask_for(setup):
    greedy = "---\ndescription: d\ntools: [Read, Edit, Bash, Task, mcp__x__y]\n---\nTake it."
    put(setup.root / ".claude", "greedy", greedy)
    put(setup.root / ".claude", "fixer", FIXER)
    coding = setup.open(
        task("1", subagent_type="greedy"),
        "Seen.",
        task("2", subagent_type="greedy", writes=True),
        "Seen.",
        task("3", subagent_type="fixer", writes=True),
        "Seen.",
        "Done.",
    )
    say(coding, "Go.")
    assert "- greedy: d (for Bash, Edit it needs `writes`)" in definition(requests(coding)[0]).description
    inner = [
        names(request) for request in requests(coding) if "You are a sub-agent" in request.messages[0].text
    ]
    assert inner[0] == {"Read", "Recall"}
    assert inner[1] == {"Read", "Recall", "Edit", "Bash"}
    assert inner[2] == ALL_TOOLS | {"Edit", "MultiEdit", "BashOutput", "BashStop"}


def test_a_kind_that_does_not_name_task_has_no_sub_agents_of_its_own(setup):
    put(setup.root / ".claude", "scout", SCOUT)
    coding = setup.open(task(subagent_type="scout"), "Seen.", "Done.", tasks=TaskSettings(depth=3))
    say(coding, "Go.")
    assert "Task" not in names(requests(coding)[1])


def test_a_kind_that_is_not_there_is_an_error_that_lists_those_that_are(setup):
    put(setup.root / ".claude", "scout", SCOUT)
    coding = setup.open(task(subagent_type="scot"), "Done.")
    say(coding, "Go.")
    assert results(coding) == ["NOT_FOUND: there is no kind of sub-agent `scot`. There are: scout."]


def test_what_is_offered_stays_the_same_bytes_in_a_session(setup):
    put(setup.root / ".claude", "scout", SCOUT)
    coding = setup.open("One.", task(subagent_type="scout"), "Seen.", "Two.")
    say(coding, "Go.")
    put(setup.root / ".claude", "scout", SCOUT.replace("three", "nine"))
    put(setup.root / ".claude", "other", FIXER)
    say(coding, "Again.")
    first, second, inner, _ = requests(coding)
    assert first.tools == second.tools
    assert "three lines" in inner.messages[0].text, "what runs is what was listed"
    later = setup.open("Three.")
    say(later, "And again.")
    assert "- other: " in definition(requests(later)[0]).description


def test_the_projects_kind_counts_before_the_persons(setup, tmp_path):
    put(setup.root / ".claude", "z", SCOUT)
    put(tmp_path / "own", "a", SCOUT.replace("three", "nine"))
    kinds = load_sub_agents(prompt_folders(setup.root, [tmp_path / "own"], "agents"))
    assert kinds.by_name["scout"].shown == ".claude/agents/z.md"
    assert "the sub-agent `scout` is already in .claude/agents/z.md" in kinds.warnings[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Only text.", "there is no `description`"),
        ("---\nname: a b\ndescription: d\n---\nx", "the name `a b` does not fit"),
        ("---\ndescription: d\n---\n", "there is no text below the head"),
        ("---\ndescription: d\neffort: 9\n---\nx", "line 3: "),
    ],
)
def test_a_file_with_a_mistake_is_left_out_and_named(setup, text, why):
    put(setup.root / ".claude", "bad", text)
    put(setup.root / ".claude", "good", FIXER)
    kinds = load_sub_agents(prompt_folders(setup.root, (), "agents"))
    assert list(kinds.by_name) == ["good"]
    assert why in kinds.warnings[0]
    assert kinds.warnings[0].endswith("; the sub-agent is left out")


def test_many_kinds_are_listed_up_to_a_number(setup):
    for n in range(45):
        put(setup.root / ".claude", f"k{n:02}", f"---\ndescription: {'d' * 2000}\n---\nx")
    text = load_sub_agents(prompt_folders(setup.root, (), "agents")).describe(())
    assert text.endswith("(5 more are not listed.)")
    assert len(text) < 40 * 320
