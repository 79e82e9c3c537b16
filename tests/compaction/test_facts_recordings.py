"""The rule half over real recordings, against simple scans of their own and against labels."""

import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.compaction.facts.extract import extract_facts
from holdfast.events import Entry
from holdfast.recordings.recording_files import read_recordings
from holdfast.views.directives import directives
from holdfast.views.transcript import Transcript
from support.directive_labels import digest, read_labels, read_messages, score
from support.recording_folder import recording_files

CODING = ("cc__", "codex__", "pi-", "sweagent-")

WROTE = re.compile(
    r"The file .{1,300} has been updated|File created successfully|Successfully (?:replaced|wrote)"
)
PATCHED = re.compile(r"\*\*\* (?:Update|Add|Delete) File: (.+?)(?:\\n|\n)")
OPENED = re.compile(r"\[File: (\S+) \(\d+ lines total\)\]")

RUNNER = re.compile(
    r"\b(?:go test|pytest|(?:bun|p?npm)(?: run)? test|vitest|jest|cargo test|mvn|(?:mise run|make|rtk) test)\b"
)
LOOKS = re.compile(r"\s*(?:cd \S+ && )?(?:cat|grep|rg|git|gh|sed|head|tail|ls|find|echo)\b")
COUNTED = re.compile(
    r"^[ =]*(?:Tests:? +)?(?:\d+ (?:passed|pass|failed|fail)\b|.*\b\d+ (?:passed|failed)\b.* in [\d.]+s)"
)
BAD_COUNT = re.compile(r"\b[1-9]\d* (?:failed|fail)\b")


class Seen(NamedTuple):
    """What a scan of a recording sees, and what the rule half knows of the same."""

    id: str
    changed: set[str]
    known: set[str]
    tested: tuple[int, bool] | None
    state: tuple[int, bool] | None


@cache
def seen_in(file):
    return [_seen(recording) for recording in read_recordings(file)]


def _seen(recording):
    events = [recorded.event for recorded in recording.events if not recorded.chain]
    transcript = Transcript(Entry(f"e{n}", recording.id, n, None, event) for n, event in enumerate(events))
    facts = extract_facts(transcript)
    return Seen(
        recording.id,
        set(changed_paths(transcript)),
        {file.path for file in facts.files if file.action != "read"},
        last_tested(transcript),
        (facts.tests.step, facts.tests.is_passed) if facts.tests else None,
    )


def coding_files():
    return [p for p in recording_files() if p.values[0] is None or p.id.startswith(CODING)]


def changed_paths(transcript):
    """What edits, writes and patches say that they changed."""
    for step in transcript.steps:
        for call_id, result in step.results.items():
            call, text = step.calls[call_id], result.text
            if call.name.lower() in ("edit", "write", "multiedit", "notebookedit") and WROTE.match(text):
                yield next(
                    call.arguments[k] for k in ("file_path", "path", "notebook_path") if k in call.arguments
                )
            for value in call.arguments.values():
                if isinstance(value, str) and "*** Begin Patch" in value and "rror" not in text[:200]:
                    yield from PATCHED.findall(value)
                if isinstance(value, str) and value.startswith("edit") and (opened := OPENED.match(text)):
                    yield opened[1]


@pytest.mark.slow
@pytest.mark.parametrize("file", coding_files())
def test_every_changed_file_is_known_as_changed(file):
    assert sum(len(seen.changed) for seen in seen_in(file)) > 0
    assert {
        seen.id: seen.changed - seen.known for seen in seen_in(file) if not seen.changed <= seen.known
    } == {}


def told(command, text):
    """Whether a run of tests passed, read as a person would skim it; None where it does not say."""
    lines = text.split("\n")
    counts = [n for n, line in enumerate(lines) if COUNTED.match(line)]
    if counts:
        return not any(BAD_COUNT.search(line) for line in lines[max(counts[-1] - 2, 0) : counts[-1] + 1])
    if re.search(r"(?m)^\s*(?:--- FAIL|FAIL\b)", text):
        return False
    if RUNNER.search(command) and re.search(r"(?m)^(?:\[[\w:]+\] )?ok\s+\S+\s|^\s*(?:PASS\b|--- PASS)", text):
        return True
    return None


def last_tested(transcript):
    """The step of the last run of tests, and whether it passed."""
    last = None
    for step in transcript.steps:
        for call_id, result in step.results.items():
            command = step.uses[call_id].command
            is_run = RUNNER.search(command) or "git commit" in command
            if is_run and (not LOOKS.match(command) or "git commit" in command):
                passed = told(command, result.text)
                last = last if passed is None else (step.number, passed)
    return last


@pytest.mark.parametrize("file", coding_files())
def test_the_last_state_of_the_tests_is_known(file):
    tested = [seen for seen in seen_in(file) if seen.tested]
    assert [(seen.id, seen.state) for seen in tested] == [(seen.id, seen.tested) for seen in tested]


LABELS = read_labels()


def labelled_messages():
    folder = os.environ.get("HOLDFAST_RECORDINGS", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("HOLDFAST_RECORDINGS names no folder")
    return read_messages(Path(folder), LABELS)


def test_enough_messages_are_labelled_in_every_project_and_none_twice():
    assert len({label.digest for label in LABELS}) == len(LABELS) >= 200
    assert len({label.recording.split("/")[0] for label in LABELS}) == 8
    assert sum(len(label.directives) for label in LABELS) >= 150


@pytest.mark.slow
@pytest.mark.recordings
def test_directives_are_found_where_a_reader_found_them():
    texts = labelled_messages()
    for label in LABELS:
        assert digest(texts[label.recording, label.message]) == label.digest
    tuned = score([label for label in LABELS if label.is_tuned_on], texts, directives)
    other = score([label for label in LABELS if not label.is_tuned_on], texts, directives)
    assert tuned.recall >= 0.95
    assert other.recall >= 0.95
    assert tuned.precision >= 0.85
    assert other.precision >= 0.75
