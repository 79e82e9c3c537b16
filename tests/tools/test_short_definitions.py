"""Tools defined in short: what their schemas still say, and that every call does what it did."""

import asyncio
import re
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from holdfast.agents.coding.tool_state import ToolState
from holdfast.agents.pair.role_session import ROLE_TOOLS, define_tools, hand_over_tool, role_prompts
from holdfast.events import ToolReturned
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.messages import Text, ToolCall, ToolDefinition
from holdfast.recall import RECALL_TOOL, answer_recall
from holdfast.store import SqliteStore
from holdfast.tools.ask_user import NoAnswer
from holdfast.tools.files.read import DEFAULT_LINES
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.recall import recall_tool
from holdfast.tools.shell.bash import MOST_SECONDS, BashArguments
from holdfast.tools.shell.sandbox import Bubblewrap, Landlock, Unconfined
from holdfast.tools.shell.shell import Shell
from holdfast.tools.short_definitions import lean_schema, with_short_definition
from holdfast.tools.skill_files import Skills
from holdfast.tools.todo_write import TodoList
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

TIME = re.compile(r"modified [0-9T:-]+Z")

NAMES = sorted((*ROLE_TOOLS, "Recall", "HandOver"))
KEPT = "The port is 4711.\nThe host is local.\n"
LONG = "A line of the file that is long enough to be read on inside it. "

CALLS = [
    ("LS", {}),
    ("LS", {"path": "src", "depth": 2, "max_results": 5}),
    ("Glob", {"pattern": "*.py"}),
    (
        "Glob",
        {"pattern": "**/*.py", "path": "src", "sort": "path", "include_ignored": True, "max_results": 3},
    ),
    ("Grep", {"pattern": r"def \w+", "path": "src", "glob": "*.py", "context": 1}),
    ("Grep", {"pattern": "f(", "literal": True, "ignore_case": True, "show": "files", "sort": "path"}),
    ("Grep", {"pattern": "x", "include_ignored": True, "max_results": 2}),
    ("Read", {"path": "src/a.py"}),
    ("Read", {"path": "src/a.py", "offset": -1, "limit": 1}),
    ("Read", {"path": "long.txt", "column": 20, "encoding": "utf-8", "raw": True}),
    (
        "Edit",
        {"path": "src/a.py", "old_string": "f", "new_string": "g", "replace_all": True, "dry_run": True},
    ),
    ("Edit", {"path": "src/a.py", "old_string": "return 1", "new_string": "return 2"}),
    (
        "MultiEdit",
        {
            "path": "src/a.py",
            "edits": [{"old_string": "return 2", "new_string": "return 3", "replace_all": True}],
            "dry_run": True,
        },
    ),
    ("Write", {"path": "new/b.txt", "content": "b\n", "dry_run": True}),
    ("Write", {"path": "new/b.txt", "content": "b\n"}),
    ("Bash", {"command": "seq 9", "run_in_background": True}),
    ("BashOutput", {"id": "b1", "lines": "2-3", "wait": 20}),
    (
        "Bash",
        {
            "command": "seq 3; echo no >&2",
            "timeout": 20,
            "access": "write",
            "reason": "it prints",
        },
    ),
    ("BashOutput", {}),
    ("BashOutput", {"id": "b1", "grep": "2"}),
    ("BashOutput", {"id": "b1", "bytes": "0-3"}),
    ("BashStop", {"id": "b1"}),
    ("TodoWrite", {"todos": [{"content": "look", "status": "in_progress"}, {"content": "tell"}]}),
    (
        "AskUser",
        {
            "questions": [
                {
                    "question": "Which?",
                    "options": [{"label": "one", "description": "It is less."}, {"label": "two"}],
                    "multiple": True,
                }
            ]
        },
    ),
    ("Recall", {"id": text_id(KEPT), "lines": "1-2", "chars": "1-5"}),
    ("Recall", {"id": text_id(KEPT), "grep": "port"}),
    ("Recall", {"query": "port"}),
    (
        "HandOver",
        {
            "summary": "Built.",
            "asks": "Change R4.",
            "verdict": "return",
            "files": [{"path": "src/a.py", "about": "the tool"}],
            "design": ["rules.md"],
            "counts": {"samples": 2},
            "success": {"passed": 1, "total": 2},
            "problems": [{"summary": "R4", "layer": 1, "severity": "high", "samples": ["s1"]}],
            "decisions": ["Which rule wins?"],
            "evaluation": {
                "command": "python3 evaluate.py {iteration}",
                "inputs": ["evaluate.py"],
                "result": "one file for each sample",
                "seconds": 60,
            },
            "turn_budget": {"steps": 40, "dollars": 1.5},
        },
    ),
]
"""Calls as a model writes them, each argument of each tool in one of them; a later one builds on those before."""

WRONG = [
    ("Read", {"path": "src/a.py", "limit": -1}),
    ("Edit", {"path": "src/a.py", "old_string": "f"}),
    ("Grep", {"pattern": "x", "context": 11}),
    ("Bash", {"command": "true", "timeout": 601}),
    ("HandOver", {"summary": "s", "asks": "a", "verdict": "go"}),
    (
        "HandOver",
        {"summary": "s", "asks": "a", "problems": [{"summary": "p", "layer": 10, "severity": "low"}]},
    ),
    ("LS", {"deep": 2}),
]


class Ground:
    """All tools of a role in a folder, defined in full and in short."""

    def __init__(self, folder, store, sandbox=None):
        self.root = folder / "work"
        (self.root / "src").mkdir(parents=True)
        (self.root / "src" / "a.py").write_text("def f(x):\n    return 1\n")
        (self.root / "long.txt").write_text(LONG)
        shell = Shell(sandbox=sandbox or Unconfined())
        recall = recall_tool(RECALL_TOOL, lambda given: answer_recall(store, given))
        self.tool_state = ToolState(SeenFiles(), shell, TodoList(), Skills([]), recall)
        self.full = [*self.tool_state.tools(NoAnswer()), hand_over_tool(lambda _: ())]
        self.short = define_tools(self.full, "short")

    def answers(self, tools, calls):
        """What the model reads, one call after the other."""
        toolbox = Toolbox(tools, Workspace([self.root]))
        made = [ToolCall(f"c{n}", name, given) for n, (name, given) in enumerate(calls)]
        results = asyncio.run(toolbox.run_calls(made))
        assert [call for call, result in zip(calls, results, strict=True) if result.is_error] == WRONG
        return [result.envelope.text for result in results]


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "store.db") as opened:
        Log.create(opened, redact=str).append(ToolReturned("c", "Bash", (Text(KEPT),)))
        yield opened


@pytest.fixture
def ground(tmp_path, store):
    opened = Ground(tmp_path, store)
    yield opened
    opened.tool_state.close()


@pytest.fixture
def both(ground):
    """By name, the full definition and the short one."""
    short = {tool.name: tool.definition for tool in ground.short}
    return {tool.name: (tool.definition, short[tool.name]) for tool in ground.full}


def objects(schema: dict, at: str = "") -> Iterator[tuple[str, dict]]:
    """Every schema of an object in a schema, with its place."""
    for one in (schema, *schema.get("anyOf", [])):
        if "properties" in one:
            yield at, one
            for name, inner in one["properties"].items():
                yield from objects(inner, f"{at}/{name}")
        if "items" in one:
            yield from objects(one["items"], f"{at}/*")


def keywords(schema: dict) -> set[str]:
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    inner += [schema["items"]] if "items" in schema else []
    return set(schema).union(*map(keywords, inner))


def test_every_tool_that_a_role_may_have_has_a_short_form(both):
    assert sorted(both) == NAMES == sorted(role_prompts())
    for name, (full, short) in both.items():
        assert short.name == full.name
        assert 0 < len(short.description) < len(full.description), name
        assert len(str(short.schema)) < len(str(full.schema)), name


def test_a_short_schema_has_names_types_and_what_is_required(both):
    for name, (full, short) in both.items():
        Draft202012Validator.check_schema(short.schema)
        assert keywords(short.schema) <= {"type", "enum", "items", "properties", "required"}, name
        wanted = dict(objects(full.schema))
        for at, one in objects(short.schema):
            assert sorted(one.get("required", [])) == sorted(wanted[at].get("required", [])), (name, at)
            assert one["properties"].keys() <= wanted[at]["properties"].keys(), (name, at)


def test_what_is_left_out_is_optional_and_there(both):
    for name, brief in role_prompts().items():
        full, short = (dict(objects(one.schema))[""] for one in both[name])
        left = full["properties"].keys() - short["properties"].keys()
        assert left == set(brief.without), name
        assert not left & set(full.get("required", [])), name


def test_definitions_come_back_from_a_log_as_they_were(both):
    for pair in both.values():
        assert (
            msgspec.json.decode(msgspec.json.encode(pair), type=tuple[ToolDefinition, ToolDefinition]) == pair
        )


def test_the_calls_use_every_argument(both):
    for name, (full, _) in both.items():
        used = {key for tool, given in CALLS if tool == name for key in given}
        assert used == set(full.schema["properties"]), name


@pytest.mark.parametrize(("name", "given"), CALLS, ids=[f"{n}-{name}" for n, (name, _) in enumerate(CALLS)])
def test_a_short_schema_takes_what_the_full_one_takes(both, name, given):
    full, short = both[name]
    Draft202012Validator(full.schema).validate(given)
    Draft202012Validator(short.schema).validate(given)


@pytest.mark.slow
def test_calls_do_the_same_and_are_refused_for_the_same(tmp_path, store):
    said = []
    for kind in ("full", "short"):
        ground = Ground(tmp_path / kind, store)
        said.append(ground.answers(getattr(ground, kind), [*CALLS, *WRONG]))
        assert (ground.root / "src" / "a.py").read_text() == "def f(x):\n    return 2\n"
        assert (ground.root / "new" / "b.txt").read_text() == "b\n"
        ground.tool_state.close()
    full, short = ([TIME.sub("modified then", answer) for answer in answers] for answers in said)
    assert full == short
    for name, answer in zip((name for name, _ in WRONG), said[1][len(CALLS) :], strict=True):
        assert name in answer


def test_tools_that_only_read_still_do(ground):
    assert [tool.is_read_only for tool in ground.short] == [tool.is_read_only for tool in ground.full]


def test_a_tool_without_a_short_text_stays_as_it_is(ground):
    assert [with_short_definition(tool, {}) for tool in ground.full] == ground.full
    assert define_tools(ground.full, "full") == ground.full


@pytest.mark.parametrize(
    ("sandbox", "said"),
    [
        (Unconfined(), "No sandbox: commands can do all that the user who runs them can."),
        (Bubblewrap("/usr/bin/bwrap"), "`/tmp`; no network but loopback."),
        (Landlock(4), "there is no network, not even loopback."),
    ],
    ids=["none", "bubblewrap", "landlock"],
)
def test_bash_says_what_its_sandbox_holds(tmp_path, store, sandbox, said):
    ground = Ground(tmp_path, store, sandbox)
    text = next(tool.definition.description for tool in ground.short if tool.name == "Bash")
    ground.tool_state.close()
    assert text.endswith(said)


def test_figures_in_short_texts_are_those_of_the_tools():
    texts = {name: brief.short for name, brief in role_prompts().items()}
    assert f"{DEFAULT_LINES} unless" in texts["Read"]
    assert f"({BashArguments('x').timeout:.0f} unless given, at most {MOST_SECONDS})" in texts["Bash"]


def test_a_null_that_stands_for_nothing_given_is_left_out_and_others_stay():
    rate = {"type": "object", "properties": {"of": {"type": "integer", "minimum": 0}}, "required": ["of"]}
    some = {"anyOf": [rate, {"type": "null"}], "default": None}
    choice = {"anyOf": [{"type": "string", "maxLength": 9}, {"type": "integer"}, {"type": "null"}]}
    schema = {
        "type": "object",
        "properties": {"may": some, "must": some, "choice": choice, "rare": rate},
        "required": ["must"],
        "additionalProperties": False,
    }
    lean = lean_schema(schema, ["rare", "must"])
    inner = {"type": "object", "properties": {"of": {"type": "integer"}}, "required": ["of"]}
    assert lean == {
        "type": "object",
        "properties": {
            "may": inner,
            "must": {"anyOf": [inner, {"type": "null"}]},
            "choice": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["must"],
    }


NAMED = st.sampled_from(["path", "lines", "edits", "rare", "odd"])


def in_list(inner):
    schema, value = inner
    return {"type": "array", "items": schema, "maxItems": 3, "description": "Some."}, [value]


@st.composite
def in_object(draw, inner):
    fields = draw(st.dictionaries(NAMED, inner, max_size=4))
    required = [name for name in fields if draw(st.booleans())]
    given = {name: value for name, (_, value) in fields.items() if name in required or draw(st.booleans())}
    schema = {
        "type": "object",
        "properties": {name: one for name, (one, _) in fields.items()},
        "required": required,
        "additionalProperties": False,
    }
    return schema, given


CASES = st.recursive(
    st.sampled_from(
        [
            ({"type": "string", "minLength": 1, "description": "A text."}, "x"),
            ({"type": "integer", "minimum": 1, "default": 1}, 4),
            ({"enum": ["a", "b"]}, "b"),
            ({"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None}, True),
            ({"type": "object", "additionalProperties": {"type": "integer"}}, {"n": 1}),
        ]
    ),
    lambda inner: st.one_of(inner.map(in_list), in_object(inner)),
    max_leaves=8,
)
"""Schemas, each with a value that it takes."""


@pytest.mark.slow
@given(CASES, st.sets(NAMED))
def test_a_lean_schema_takes_whatever_the_schema_takes(case, without):
    schema, value = case
    Draft202012Validator(schema).validate(value)
    lean = lean_schema(schema, without)
    Draft202012Validator.check_schema(lean)
    Draft202012Validator(lean).validate(value)
    assert lean_schema(lean, without) == lean
