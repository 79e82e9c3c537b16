"""`holdfast compact` on real files, with no model and with one behind a real server."""

from pathlib import Path
from typing import Any

import pytest
from command_line import call, holdfast, json_file

from holdfast.messages import Text
from support.provider_server import Failure, Script, serving

RULE = "Never touch src/legacy/."


def long_work(steps: int = 60) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Fix the parser. {RULE}"}]
    for n in range(steps):
        messages.append({"role": "assistant", "tool_calls": [call(f"c{n}", "Bash", command=f"run part_{n}")]})
        text = " ".join(f"word{n}x{m}" for m in range(60))
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"{text}\npart_{n} is done"})
    return messages


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return json_file(tmp_path / "work.json", long_work())


def test_by_rule_the_summary_alone_is_on_stdout(recording: Path) -> None:
    done = holdfast("compact", recording, "--budget", "8k", "--no-model")
    assert done.code == 0
    assert done.text.startswith("# Archived Session Summary")
    assert RULE in done.text
    assert "summarized in" in done.err


def test_each_line_leads_back_to_the_log(recording: Path) -> None:
    done = holdfast("compact", recording, "--budget", "8k", "--no-model", "--json")
    line = next(line for line in done.json["lines"] if RULE in line["text"])
    assert line["by"] == "rule"
    assert RULE in holdfast("recall", line["sources"][0]).text
    assert done.json["tokens_after"] < done.json["tokens_before"]


def test_explain_lists_every_line_with_its_sources(recording: Path) -> None:
    done = holdfast("compact", recording, "--budget", "8k", "--no-model", "--explain")
    assert "rule" in done.err
    assert "from" in done.err


def test_a_preview_asks_nobody(recording: Path) -> None:
    done = holdfast(
        "compact", recording, "--budget", "8k", "--preview", "--model", "anthropic/claude-sonnet-5-5"
    )
    assert done.code == 0
    assert "into a summary of at most" in done.err
    assert done.text == ""


def test_a_preview_of_nothing_is_a_sentence_or_null(recording: Path) -> None:
    done = holdfast("compact", recording, "--preview", "--at", "2")
    assert (done.code, done.text) == (0, "")
    assert "nothing would be summarized" in done.err
    done = holdfast("compact", recording, "--preview", "--at", "2", "--json")
    assert (done.code, done.json) == (0, None)


@pytest.mark.slow
def test_the_json_has_the_plan_the_text_and_what_became_of_it(recording: Path) -> None:
    done = holdfast("compact", recording, "--budget", "8k", "--no-model", "--json").json
    plan = holdfast("compact", recording, "--budget", "8k", "--preview", "--json").json
    assert done["plan"] == plan
    assert plan["replaced"] > plan["shown"] > plan["budget"]
    assert (done["by"], done["failures"], done["asks"], done["added"]) == ("rule", [], False, [])
    assert {line["by"] for line in done["lines"]} == {"rule"}


def test_a_log_of_the_store_stays_as_it_is(recording: Path) -> None:
    id_ = holdfast("compact", recording, "--budget", "8k", "--no-model", "--json").json["log"]
    before = holdfast("logs", "--json").text
    done = holdfast("compact", id_, "--budget", "8k", "--no-model")
    assert RULE in done.text
    assert holdfast("logs", "--json").text == before


def test_nothing_to_summarize_is_a_sentence(recording: Path) -> None:
    done = holdfast("compact", recording, "--at", "2", "--no-model")
    assert done.code == 2
    assert "nothing to summarize" in done.err
    assert "hint:" in done.err


def test_a_model_and_no_model_exclude_each_other(recording: Path) -> None:
    done = holdfast("compact", recording, "--model", "a/b", "--no-model")
    assert done.code == 2


@pytest.mark.parametrize("profile", ["draft16k", "code", "review", "init", "execute"])
def test_every_form_can_be_written(recording: Path, profile: str) -> None:
    done = holdfast("compact", recording, "--profile", profile, "--budget", "8k", "--no-model")
    assert done.code == 0
    assert RULE in done.text


SECTIONS = """\
## Objectives & Status
- The parser is being fixed
## Technical Context
- A shell
## Completed Milestones
- `run part_3` was done
- `run part_999` was done
## Key Insights & Decisions
- part_5 needs care; see src/made_up.py
## File System State
- nothing was written
"""
"""A summary that forgets what the user demanded, and invents a command and a path."""


def test_a_model_behind_a_server_writes_and_is_checked(recording: Path) -> None:
    rate = Failure(kind="rate", headers={"retry-after": "0"})
    with serving(rate, Script(parts=(Text(SECTIONS),), chunk=7)) as server:
        done = holdfast(
            "compact", recording, "--budget", "8k", "--model", f"compatible/x@{server.openai_url}"
        )
    assert done.code == 0
    assert done.text.startswith("# Archived Session Summary")
    assert "`run part_3` was done" in done.text
    assert "part_999" not in done.text
    assert "made_up" not in done.text
    assert RULE in done.text
    assert "by compatible/x" in done.err
    assert "removed; `--explain` lists them" in done.err
    first, second = server.requests
    assert first.body == second.body
    assert (first.path, first.json["model"]) == ("/v1/chat/completions", "x")
    assert "authorization" not in first.headers


def test_a_model_of_the_house_stands_in_the_file(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_API_KEY", "sk-loopback-0123456789")
    with serving(Script(parts=(Text(SECTIONS),))) as server:
        (tmp_path / "holdfast.toml").write_text(
            f'default_model = "house/x"\n[models."house/x"]\nurl = "{server.url}"\nprotocol = "messages"\n'
        )
        done = holdfast("compact", recording, "--budget", "8k", "--json", "--focus", "part_5")
    assert (done.code, done.json["by"], done.json["failures"]) == (0, "house/x", [])
    assert RULE in "".join(done.json["added"])
    assert any("part_999" in one["line"] for one in done.json["removed"])
    (seen,) = server.requests
    assert (seen.path, seen.headers["x-api-key"]) == ("/v1/messages", "sk-loopback-0123456789")
    assert "part_5" in str(seen.json["messages"])


def test_what_is_asked_fits_the_models_own_window(recording: Path, tmp_path: Path) -> None:
    """The recorded agent may have had a larger one."""
    with serving(Script(parts=(Text(SECTIONS),))) as server:
        (tmp_path / "holdfast.toml").write_text(
            f'[models."compatible/small"]\nurl = "{server.openai_url}"\nwindow = "4k"\n'
        )
        done = holdfast("compact", recording, "--budget", "16k", "--model", "compatible/small", "--json")
    assert (done.code, done.json["by"]) == (0, "compatible/small")
    (seen,) = server.requests
    assert len(seen.body) < 4_000 * 4
    assert "part_0" in str(seen.json["messages"])


def test_a_key_that_is_refused_leaves_the_rule_half_and_a_note(recording: Path) -> None:
    with serving(Failure(kind="auth")) as server:
        done = holdfast(
            "compact", recording, "--budget", "8k", "--model", f"compatible/x@{server.openai_url}"
        )
    plain = holdfast("compact", recording, "--budget", "8k", "--no-model")
    assert (done.code, done.text) == (0, plain.text)
    assert "summarized in" in done.err
    assert "by rule" in done.err
    assert "the model wrote no summary" in done.err
    assert "did not accept the key (401)" in done.err
    assert "so it was written by rule" in done.err
