"""`holdfast check`: what is in the file, as it is."""

from pathlib import Path
from typing import Any

import pytest
from command_line import call, holdfast, json_file, lines_file, neutral, work

ORPHAN = [
    {"role": "user", "content": "go"},
    {"role": "tool", "tool_call_id": "zz", "content": "result of nothing"},
    {"role": "assistant", "content": None, "tool_calls": [call("c1", "Read", path="a")]},
]


def rules(path: Path, *options: str) -> list[tuple[str, int | None]]:
    found = holdfast("check", path, *options, "--json").json
    return [(v["rule"], v["index"]) for verdict in found for v in verdict["violations"]]


def test_what_breaks_no_rule_is_exit_code_0(tmp_path: Path) -> None:
    done = holdfast("check", json_file(tmp_path / "good.json", work(3, 3)))
    assert (done.code, done.out) == (0, b"")
    assert done.err == "note: 0 violations in 1 recording, by the rules of openai\n"


def test_violations_with_rule_place_and_explanation(tmp_path: Path) -> None:
    done = holdfast("check", json_file(tmp_path / "bad.json", ORPHAN))
    assert done.code == 1
    assert "openai.result-has-call: A tool message answers a call" in done.text
    assert "  message 1: result of `zz`, which the message before did not call\n" in done.text
    assert "  message 2: call `c1` is not answered in the next message\n" in done.text
    assert done.err == "note: 2 violations in 1 recording, by the rules of openai\n"


def test_what_pack_would_repair_is_said_and_then_repaired(tmp_path: Path) -> None:
    path = json_file(tmp_path / "bad.json", ORPHAN)
    text = holdfast("check", path).text
    assert "`holdfast pack` would repair:\n" in text
    assert "  orphan-result: the result of `zz` has no call that waits for it\n" in text
    assert "  unanswered-call: `c1` is not answered yet\n" in text
    repaired = json_file(tmp_path / "repaired.json", holdfast("pack", path).json)
    assert holdfast("check", repaired).code == 0


def test_messages_are_judged_as_they_stand(tmp_path: Path) -> None:
    """Reading would drop an unknown role, an empty list of calls and a cache mark: the validator must see them."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "robot", "content": "beep"},
        {"role": "assistant", "content": "ok", "tool_calls": []},
    ]
    path = json_file(tmp_path / "odd.json", messages)
    assert rules(path) == [("openai.role-legal", 1), ("openai.calls-list", 2)]
    request = {
        "system": [],
        "messages": [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "ok", "cache_control": {"type": "x"}}],
            },
        ],
    }
    found = dict(rules(json_file(tmp_path / "anthropic.json", request)))
    assert set(found) == {
        "anthropic.system-legal",
        "anthropic.tool-result-has-call",
        "anthropic.cache-mark-shape",
    }


@pytest.mark.parametrize("shape", ["list", "lines", "request", "batch"])
def test_every_shape_of_a_list_of_messages(tmp_path: Path, shape: str) -> None:
    values: dict[str, list[Any]] = {
        "list": [ORPHAN],
        "lines": ORPHAN,
        "request": [{"model": "gpt-5", "messages": ORPHAN}],
        "batch": [{"custom_id": f"r{n}", "body": {"messages": ORPHAN}} for n in range(2)],
    }
    path = lines_file(tmp_path / "a.jsonl", values[shape])
    found = [("openai.call-answered", 2), ("openai.result-has-call", 1)]
    assert sorted(set(rules(path))) == found
    assert len(rules(path)) == (4 if shape == "batch" else 2)
    if shape == "batch":
        assert "recording r1" in holdfast("check", path).text
        assert len(rules(path, "--id", "r1")) == 2


def test_a_file_can_be_judged_by_another_provider(tmp_path: Path) -> None:
    path = json_file(tmp_path / "bad.json", ORPHAN)
    assert {rule.split(".")[0] for rule, _ in rules(path, "--provider", "anthropic")} == {"anthropic"}
    assert {rule.split(".")[0] for rule, _ in rules(path, "--provider", "both")} == {"openai", "anthropic"}


def test_other_formats_are_judged_by_both(tmp_path: Path) -> None:
    values = [neutral("a", ORPHAN), neutral("b", work(2, 3)[1:])]
    path = lines_file(tmp_path / "a.jsonl", values)
    found = holdfast("check", path, "--json").json
    assert [(v["recording"], v["provider"], bool(v["violations"])) for v in found] == [
        ("a", "openai", True),
        ("a", "anthropic", True),
        ("b", "openai", False),
        ("b", "anthropic", False),
    ]


def test_a_stored_log(tmp_path: Path) -> None:
    log = holdfast("pack", json_file(tmp_path / "bad.json", ORPHAN), "--json").json["log"]
    done = holdfast("check", log, "--provider", "openai")
    assert done.code == 1
    assert "openai.result-has-call" in done.text


def test_what_pack_cannot_read_is_judged_all_the_same(tmp_path: Path) -> None:
    done = holdfast("check", json_file(tmp_path / "a.json", [{"role": "robot", "content": "beep"}]))
    assert done.code == 1
    assert "openai.role-legal" in done.text
    assert "`holdfast pack` cannot read it: a.json line 1 has no message with a known role" in done.text


def test_a_torn_last_line_is_said(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "a.jsonl", work(2, 3))
    path.write_text(path.read_text() + '{"role": "us')
    done = holdfast("check", path)
    assert done.code == 0
    assert "is torn and was left out" in done.err
