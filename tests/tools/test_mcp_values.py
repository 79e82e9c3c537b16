"""The parts of the MCP client that need no server: configuration, names, answers, and what fits a budget."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ConfigError
from holdfast.messages import Image
from holdfast.tools.mcp.mcp_call import ResultLimits, map_result
from holdfast.tools.mcp.server_config import HttpServer, StdioServer, parse_servers
from holdfast.tools.mcp.tool_names import (
    NamedTool,
    RemoteTool,
    list_tools,
    name_tools,
    named_tools,
    plan_tools,
    search_tools,
)

NAMES = st.text("ab_-. ü/" + "x", min_size=0, max_size=12) | st.text(min_size=60, max_size=90)
ORIGINS = st.lists(st.tuples(NAMES, NAMES), max_size=12)


@given(ORIGINS, st.randoms())
def test_every_tool_has_a_name_of_its_own_whatever_the_order(origins, random):
    names = name_tools(origins)
    assert set(names) == set(origins)
    assert len(set(names.values())) == len(names)
    assert all(re.fullmatch(r"mcp__[A-Za-z0-9_-]{0,59}", name) for name in names.values())
    shuffled = list(origins)
    random.shuffle(shuffled)
    assert name_tools(shuffled) == names


def test_a_plain_name_stays_as_it_is_beside_others_that_look_like_it():
    names = name_tools([("s", "a_b"), ("s", "a b"), ("s", "a.b")])
    assert names["s", "a_b"] == "mcp__s__a_b"
    assert all(re.fullmatch(r"mcp__s__a_b_[0-9a-f]{6}", names["s", other]) for other in ("a b", "a.b"))


def test_the_border_between_server_and_tool_can_be_read_in_two_ways():
    names = name_tools([("a__b", "c"), ("a", "b__c")])
    assert len(set(names.values())) == 2


def test_a_name_that_another_was_to_get_is_not_given_twice():
    taken = name_tools([("s", "a b"), ("s", "a_b")])["s", "a b"].removeprefix("mcp__s__")
    names = name_tools([("s", "a b"), ("s", "a_b"), ("s", taken)])
    assert names["s", taken] == f"mcp__s__{taken}"
    assert len(set(names.values())) == 3


def test_servers_from_a_table():
    servers = parse_servers(
        {
            "files": {"command": "npx", "args": ["-y", "server"], "env": {"A": "b"}, "call_seconds": 5},
            "web": {"url": "https://example.org/mcp", "headers": {"X": "y"}, "trusted": True},
        },
        "holdfast.toml",
    )
    assert servers == {
        "files": StdioServer("npx", ("-y", "server"), {"A": "b"}, call_seconds=5.0),
        "web": HttpServer("https://example.org/mcp", {"X": "y"}, trusted=True),
    }


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "x", "url": "http://x"}, "needs either `command` or `url`"),
        ({}, "needs either `command` or `url`"),
        ("npx", "must be a table, not the text `npx`"),
        ({"command": "x", "arguments": []}, "has no setting `arguments`"),
        ({"command": 3}, "`command` is wrong: expected `str`, got `int`"),
        ({"command": "x", "args": "-y"}, "`args` is wrong: expected `array`, got `str`"),
        ({"url": "ftp://x"}, "`url` is wrong"),
        ({"command": "x", "start_seconds": 0}, "`start_seconds` is wrong: expected `float` > 0.0"),
    ],
    ids=["both", "neither", "text", "unknown", "type", "list", "address", "time"],
)
def test_a_wrong_table_is_named_with_its_place(entry, said):
    with pytest.raises(ConfigError) as caught:
        parse_servers({"mine": entry}, "holdfast.toml")
    assert f"holdfast.toml: [mcp.servers.mine] {said}" in caught.value.message


def test_the_environment_that_is_handed_on():
    server = StdioServer("x", env={"KEY": "a${T}b", "PATH": "/mine"}, pass_env=("KEEP", "NOT"))
    ours = {"PATH": "/bin", "T": "t", "KEEP": "k", "OPENAI_API_KEY": "secret", "HOME": "/h"}
    assert server.environment(ours, "it") == {"PATH": "/mine", "HOME": "/h", "KEEP": "k", "KEY": "atb"}
    with pytest.raises(ConfigError, match="it needs the variable `T`"):
        server.environment({}, "it")


def mapped(answer, **bounds):
    return map_result(answer, {}, ResultLimits(**bounds)).envelope


def text(*texts):
    return [{"type": "text", "text": one} for one in texts]


@pytest.mark.parametrize(
    ("content", "structured", "said"),
    [
        (text("a", "b"), None, "a\nb"),
        (text('{"n": 1}'), {"n": 1}, '{"n": 1}'),
        (text("7"), {"result": 7}, "7"),
        (text("x", "y"), {"result": ["x", "y"]}, "x\ny"),
        (text("1", "2"), {"result": [1, 2]}, "1\n2"),
        (text("one row"), {"rows": 1}, 'one row\n{"rows": 1}'),
        ([], {"名": "值"}, '{"名": "值"}'),
        ([], None, "(The tool answered with nothing.)"),
        ([{"type": "audio", "mimeType": "audio/wav", "data": "AA"}], None, "[sound, audio/wav: cannot be shown]"),
        ([{"type": "hologram"}], None, "[something of the kind hologram: cannot be shown]"),
        ([{"type": "image", "mimeType": "image/bmp", "data": "AAAA"}], None,
         "[picture, image/bmp, 3 bytes: not shown]"),
        ([{"type": "resource", "resource": {"uri": "f:/x", "blob": "AAAA"}}], None,
         "[resource f:/x, of unknown type, 3 bytes: not shown]"),
        (["no block", {"type": "resource"}], None, "[something of the kind resource: cannot be shown]"),
        ("no list", None, "(The tool answered with nothing.)"),
    ],
    ids=range(14),
)  # fmt: skip
def test_what_the_model_reads_of_an_answer(content, structured, said):
    answer = {"content": content} | ({} if structured is None else {"structuredContent": structured})
    assert mapped(answer).text == said


def test_pictures_are_parts_and_have_bounds():
    picture = {"type": "image", "mimeType": "image/png", "data": "AAAAAAAA"}
    large = {**picture, "data": "A" * 400}
    result = map_result(
        {"content": [picture, large, picture, picture]}, {}, ResultLimits(pictures=2, picture_chars=100)
    )
    assert [part for part in result.parts if isinstance(part, Image)] == [
        Image("image/png", data="AAAAAAAA")
    ] * 2
    assert result.envelope.text.count("not shown") == 2


def test_an_error_of_the_tool_is_an_error_for_the_model():
    envelope = mapped({"content": text("no such issue"), "isError": True})
    assert envelope.text == "EXECUTION_ERROR: no such issue"
    assert (envelope.error.code, envelope.error.message) == ("EXECUTION_ERROR", "no such issue")
    assert mapped({"content": [], "isError": True}).text == "EXECUTION_ERROR: the server gave no reason"


@given(st.text("ab\n", max_size=300), st.integers(4, 200))
def test_a_long_answer_keeps_its_ends_and_says_what_is_missing(whole, most):
    envelope = mapped({"content": text(whole)}, chars=most)
    if len(whole) <= most:
        assert envelope.text == (whole or "(The tool answered with nothing.)")
    else:
        assert envelope.status == "partial"
        assert f"{len(whole) - most} of {len(whole)} characters left out" in envelope.text
        assert envelope.text.startswith(whole[: most * 3 // 4])
        assert envelope.text.endswith(whole[-(most - most * 3 // 4) :])
    assert envelope.data["chars"] == len(whole)


def test_structure_is_kept_for_programs_if_it_is_small():
    assert "structured" in mapped({"content": [], "structuredContent": {"a": 1}}).data
    assert "structured" not in mapped({"content": [], "structuredContent": {"a": "x" * 20_000}}).data


def remote(name, size=0):
    return RemoteTool(name, f"Does {name}." + " more" * size, {"type": "object"})


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "array"}, {"type": None}])
def test_a_schema_is_always_that_of_an_object(schema):
    assert NamedTool("mcp__s__t", "s", RemoteTool("t", "", schema)).definition.schema == {"type": "object"}


def test_a_server_is_defined_whole_or_not_at_all_and_small_ones_come_first():
    listing = {"big": [remote("one", 400), remote("two")], "small": [remote("three")]}
    tools = named_tools(listing).values()
    plan = defined, deferred = plan_tools(tools, 1000)
    assert [tool.name for tool in defined] == ["mcp__small__three"]
    assert [tool.name for tool in deferred] == ["mcp__big__one", "mcp__big__two"]
    assert plan_tools(tools, 100_000)[1] == []
    assert plan_tools(tools, 0)[0] == []
    turned = named_tools({"small": listing["small"], "big": listing["big"][::-1]}).values()
    assert plan_tools(turned, 1000) == plan


@given(st.integers(0, 60), st.integers(0, 3000))
def test_a_list_fits_its_budget_and_says_what_it_leaves_out(count, budget):
    tools = [NamedTool(f"mcp__s__{n}", "s", remote(str(n), 30)) for n in range(count)]
    listed = list_tools(tools, budget)
    rows = [row for row in listed.split("\n") if row.startswith("- ")]
    assert sum(len(row) + 1 for row in rows) <= budget or not rows
    if len(rows) < count:
        assert f"and {count - len(rows)} of {count} names too" in listed
    elif rows and ":" not in rows[0]:
        assert "Descriptions are left out" in listed


def test_a_search_looks_at_names_first():
    tools = named_tools({"s": [remote("make_issue"), remote("close"), RemoteTool("x", "About an issue", {})]})
    assert [tool.remote.name for tool in search_tools(tools.values(), "ISSUE")] == ["make_issue", "x"]
    assert search_tools(tools.values(), "nothing") == []
