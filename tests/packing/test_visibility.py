"""The residency ledger: what is visible of every result and file, and never a word too much."""

import pytest
from msgspec.structs import replace

from holdfast.events import Entry, Folded, FoldedRun, FoldNote, KeptLines, ToolReturned
from holdfast.ids import text_id
from holdfast.messages import Image, Text
from holdfast.packing.pack import pack
from holdfast.packing.profile import CODE
from holdfast.packing.visibility import TextVisibility, Visibility, visibility_of
from holdfast.packing.window import Window
from support.logs import PIXEL, chained, result, step, user
from support.packing_runs import counter, pack_each_request

EXCERPTS = replace(
    CODE, name="excerpts", excerpt_ratio=0.35, fold_to_ratio=0.55, first_sight_ratio=0.04, worth="hand"
)


def listing(first: int, last: int, word: str = "value") -> str:
    return "\n".join(f"{n:6}→{word}_{n} = compute({n})" for n in range(first, last + 1))


def read(call: str, path: str, text: str, **more: object) -> list:
    return [step("", (call, "Read", {"file_path": path, **more})), result(call, text)]


def edit(call: str, path: str, *, error: bool = False) -> list:
    arguments = {"file_path": path, "old_string": "x", "new_string": "y"}
    return [step("", (call, "Edit", arguments)), result(call, "done", "Edit", error=error)]


def write(call: str, path: str, content: str, answer: str = "Wrote it", **more: object) -> list:
    arguments = {"file_path": path, "content": content, **more}
    return [step("", (call, "Write", arguments)), result(call, answer, "Write")]


def recall_of(id_: str, text: str) -> list:
    return [step("", ("q", "Recall", {"id": id_})), result("q", text, "Recall")]


def window_of(*events: object, profile=CODE, budget: int = 100_000) -> Window:
    return Window(profile.scaled_to(budget), counter(), chained([user("go"), *events]))


def ledger_of(*events: object) -> Visibility:
    return visibility_of(window_of(*events).view())


def fold(window: Window, number: int, level: str, cap: int = 0) -> Visibility:
    entry = window.transcript.steps[number].entry
    window.add(Entry("efold", "test", 0, None, Folded("manual", runs=(FoldedRun(entry, entry, level, cap),))))
    return visibility_of(window.view())


def only(found: Visibility, **wanted: object) -> TextVisibility:
    rows = [r for r in found.rows if all(getattr(r, key) == value for key, value in wanted.items())]
    assert len(rows) == 1, rows
    return rows[0]


# One row


def test_a_read_is_a_row_with_its_range_its_size_and_its_id():
    text = listing(10, 29)
    window = window_of(*read("r", "src/a.py", text, offset=10, limit=20))
    row = only(visibility_of(window.view()))
    assert (row.step, row.call, row.part) == (1, "Read src/a.py:10-29", "result")
    assert (row.path, row.first, row.last) == ("src/a.py", 10, 29)
    assert (row.state, row.note) == ("resident", "")
    assert row.tokens == row.size == counter().text(text)
    assert row.id == text_id(text)
    assert row.entry == window.transcript.steps[0].result_entries["r"]


def test_the_numbers_in_a_result_tell_the_range_that_the_call_does_not():
    row = only(
        ledger_of(*read("r", "a.py", listing(1, 12) + "\n\n<system-reminder>Be careful.</system-reminder>"))
    )
    assert (row.first, row.last) == (1, 12)


def test_what_is_no_file_has_no_path():
    found = ledger_of(
        step("", ("g", "Grep", {"pattern": "x", "path": "src"})), result("g", "a.py:1:x", "Grep")
    )
    assert only(found).path == ""
    assert only(found).state == "resident"


def test_rows_come_in_the_order_of_the_calls():
    calls = (("b", "Read", {"file_path": "b.py"}), ("a", "Read", {"file_path": "a.py"}))
    found = ledger_of(step("", *calls), result("a", listing(1, 5)), result("b", listing(1, 5)))
    assert [row.path for row in found.rows] == ["b.py", "a.py"]


def test_a_call_that_waits_or_was_never_answered_is_no_row():
    waiting = step("", ("w", "Read", {"file_path": "a.py"}))
    assert ledger_of(waiting).rows == ()
    assert ledger_of(waiting, step("Never mind.")).rows == ()


# States


@pytest.mark.parametrize(
    ("level", "cap", "state"),
    [("full", 0, "resident"), ("clipped", 200, "clipped"), ("digest", 200, "digest"), ("stub", 0, "stub")],
)
def test_a_state_for_each_level(level, cap, state):
    text = listing(1, 200)
    window = window_of(*read("r", "a.py", text))
    row = only(fold(window, 0, level, cap))
    assert row.state == state
    cuts = [(c.before, c.after, c.id) for c in pack(window.view()).cuts if c.entry == row.entry]
    assert cuts == ([] if state == "resident" else [(row.size, row.tokens, row.id)])
    assert row.size == counter().text(text)


def test_what_is_gone_takes_nothing_and_keeps_its_id():
    text = listing(1, 200)
    row = only(fold(window_of(*read("r", "a.py", text)), 0, "gone"))
    assert (row.state, row.tokens, row.size, row.id) == ("gone", 0, counter().text(text), text_id(text))


def test_a_short_result_stays_whole_at_every_level_but_gone():
    for level, state in (
        ("digest", "resident"),
        ("stub", "resident"),
        ("skeleton", "gone"),
        ("gone", "gone"),
    ):
        assert only(fold(window_of(*read("r", "a.py", listing(1, 4))), 0, level)).state == state


def test_a_result_that_was_shortened_at_first_sight_is_clipped():
    window = window_of(*read("r", "a.py", listing(1, 900)), profile=EXCERPTS, budget=16_000)
    row = only(visibility_of(window.view()))
    assert row.state == "clipped"
    assert 0 < row.tokens < row.size


def test_a_picture_is_whole_or_a_stub_and_never_lines_of_a_file():
    picture = ToolReturned("r", "Read", (Image("image/png", PIXEL),))
    window = window_of(step("", ("r", "Read", {"file_path": "a.png"})), picture)
    row = only(visibility_of(window.view()))
    assert (row.state, row.id, row.is_copy, row.lines) == ("resident", text_id(PIXEL), True, ())
    assert not visibility_of(window.view()).is_visible("a.png")
    assert only(fold(window, 0, "digest")).state == "stub"


def test_of_a_text_beside_a_picture_the_entry_brings_back_both():
    parts = (Text(listing(1, 90)), Image("image/png", PIXEL))
    window = window_of(step("", ("r", "Bash", {"command": "plot"})), ToolReturned("r", "Bash", parts))
    row = only(visibility_of(window.view()))
    assert row.id == row.entry
    assert only(fold(window, 0, "stub")).state == "stub"


def test_lines_that_a_note_keeps_make_a_digest_that_is_not_resident():
    events = [user("Find out why load_settings fails.")]
    for i in range(60):
        noise = [f"plain text of no use in row {i} {j}" for j in range(30)]
        rows = [*noise, f"error: part_{i} needs module_{i}.settings", *noise]
        text = "\n".join(f"{n:6}→{row}" for n, row in enumerate(rows, 1))
        events += read(f"c{i}", f"src/part_{i}.log", text)
    last = list(pack_each_request(chained(events), EXCERPTS.scaled_to(16_000)))[-1]
    view = last.window.view()
    found = visibility_of(view)
    kept = [r for r in found.rows if r.state == "digest" and view.levels[r.step - 1][0] == "gone"]
    assert len(kept) > 5
    shown = "\n".join(p.text for m in last.pack.messages for p in m.parts if isinstance(p, Text))
    for row in kept:
        assert f"needs module_{row.step - 1}.settings" in shown
        assert 0 < row.tokens < row.size
        assert not found.is_visible(row.path, 31, 31)
    for row in found.rows:
        if row.state == "gone":
            assert f"needs module_{row.step - 1}.settings" not in shown


def test_of_what_was_written_a_note_may_keep_lines_too():
    events = [user("Find out why load_settings fails.")]
    for i in range(60):
        noise = [f"plain text of no use in row {i} {j}" for j in range(30)]
        rows = [*noise, f"raise SettingsError_{i}('module_{i}.settings')", *noise]
        events += write(f"c{i}", f"src/part_{i}.py", "\n".join(rows))
    last = list(pack_each_request(chained(events), EXCERPTS.scaled_to(16_000)))[-1]
    rows = [row for row in visibility_of(last.window.view()).rows if row.part == "argument"]
    shown = "\n".join(p.text for m in last.pack.messages for p in m.parts if isinstance(p, Text))
    for row in rows:
        if row.state != "resident":
            is_kept = f"SettingsError_{row.step - 1}(" in shown
            assert (row.state, row.tokens > 0) == (("digest", True) if is_kept else ("gone", False))
    assert sum(row.state == "digest" for row in rows) > 5


def noted(*texts: str) -> Window:
    """A read and a Recall that are gone; the note lists four lines of each, and shows those of the read."""
    window = window_of(*read("r", "a.py", texts[0]), *recall_of("a0123456789ab", texts[1]))
    first, last = window.transcript.steps
    kept = tuple(KeptLines(s.entry, c, "result", "0-3") for s, c in ((first, "r"), (last, "q")))
    note = FoldNote(first.entry, last.entry, "[holdfast: steps 1-2 folded]", "index", kept=kept)
    runs = (FoldedRun(first.entry, last.entry, "gone"),)
    window.add(Entry("efold", "test", 0, None, Folded("manual", runs=runs, notes=(note,))))
    return window


def test_lines_that_a_note_lists_and_does_not_show_are_gone():
    rows = visibility_of(noted(listing(1, 40), listing(41, 80)).view()).rows
    assert [row.state for row in rows] == ["digest", "gone"]
    assert rows[0].tokens == counter().text(listing(1, 4))


def test_rows_never_take_more_than_the_note_that_quotes_them():
    window = noted(listing(1, 40), listing(1, 40))
    assert sum(row.tokens for row in visibility_of(window.view()).rows) <= pack(window.view()).tokens


def test_totals_add_up():
    window = window_of(*read("r", "a.py", listing(1, 200)), *read("s", "b.py", listing(1, 50)))
    found = fold(window, 0, "stub")
    totals = found.totals()
    assert (totals["stub"].rows, totals["resident"].rows, totals["gone"].rows) == (1, 1, 0)
    assert (
        sum(t.tokens for t in totals.values())
        == sum(row.tokens for row in found.rows)
        <= pack(window.view()).tokens
    )


# Resident


def test_a_whole_read_answers_for_every_range_in_it():
    found = ledger_of(*read("r", "a.py", listing(1, 40)))
    assert found.is_visible("a.py")
    assert found.is_visible("a.py", 1, 40)
    assert found.is_visible("a.py", 12, 12)
    assert found.is_visible("a.py", 30)
    assert not found.is_visible("a.py", 1, 41), "nothing says that the file ends there"
    assert not found.is_visible("b.py")
    assert not found.is_visible("./a.py"), "a path that is spelled otherwise is another"


def test_overlapping_reads_answer_together_and_a_gap_does_not():
    parts = (
        *read("r", "a.py", listing(1, 40), offset=1, limit=40),
        *read("s", "a.py", listing(30, 70), offset=30),
    )
    found = ledger_of(*parts)
    assert found.is_visible("a.py", 1, 70)
    assert found.is_visible("a.py"), "the second read went on to the end"
    apart = ledger_of(*parts, *read("t", "a.py", listing(80, 90), offset=80, limit=11))
    assert not apart.is_visible("a.py", 60, 85)
    assert apart.visible_lines("a.py") == ((1, 70), (80, 90))


def test_a_read_that_came_short_of_its_range_tells_the_end():
    found = ledger_of(*read("r", "a.py", listing(1, 40), offset=1, limit=2000))
    assert found.is_visible("a.py", 1, 2000)
    assert found.is_visible("a.py", 35, 60)
    assert not found.is_visible("a.py", 50, 60), "there is nothing to show"
    assert not ledger_of(*read("r", "a.py", listing(1, 40), offset=1, limit=40)).is_visible("a.py", 1, 41)


def test_a_file_that_a_later_read_shows_to_be_longer_ends_nowhere_that_is_known():
    parts = (*read("r", "a.py", listing(1, 40), offset=1, limit=2000), *read("s", "a.py", listing(1, 40)))
    assert ledger_of(*parts).is_visible("a.py", 1, 2000)
    found = ledger_of(*parts, *read("t", "a.py", listing(30, 60), offset=30, limit=31))
    assert found.is_visible("a.py", 1, 60)
    assert not found.is_visible("a.py", 1, 2000)
    assert not found.is_visible("a.py")


def test_lines_of_a_clipped_listing_that_are_left_are_resident_and_the_gap_is_not():
    window = window_of(*read("r", "a.py", listing(1, 400)))
    found = fold(window, 0, "clipped", 1_000)
    (head, tail) = only(found).lines
    assert (head[0], tail[1]) == (1, 400)
    assert found.is_visible("a.py", 1, head[1])
    assert not found.is_visible("a.py", 1, head[1] + 1)
    assert found.is_visible("a.py", tail[0])
    assert not found.is_visible("a.py")


@pytest.mark.parametrize("level", ["digest", "stub", "skeleton", "gone"])
def test_what_was_folded_further_is_not_resident(level):
    found = fold(window_of(*read("r", "a.py", listing(1, 200))), 0, level, 300 if level == "digest" else 0)
    assert not found.is_visible("a.py")
    assert not found.is_visible("a.py", 1, 5)
    assert found.visible_lines("a.py") == ()


def test_what_a_shell_prints_is_counted():
    rows = "".join(f"value_{n} = compute({n})\n" for n in range(1, 31))
    printed = ledger_of(step("", ("r", "Bash", {"command": "cat a.py"})), result("r", rows, "Bash"))
    assert printed.is_visible("a.py")
    assert printed.is_visible("a.py", 1, 30)
    ranged = ledger_of(
        step("", ("r", "Bash", {"command": "sed -n '11,40p' a.py"})), result("r", rows, "Bash")
    )
    assert ranged.is_visible("a.py", 11, 40)
    assert not ranged.is_visible("a.py", 10, 20)
    assert not ranged.is_visible("a.py")


@pytest.mark.parametrize(
    "text",
    [
        "<tool_use_error>File does not exist.</tool_use_error>",
        "File unchanged since last read; refer to the earlier result.",
        "",
        "Error: a.py\n  at open\n  at read\n  at main\n  at start",
        "Exit code\nProcess exited with code 1\nOutput:\n\ncat: a.py: No such file or directory\n",
        '{"status": "success", "data": {"content": "a\\nb\\nc\\nd"}}',
        "one\ntwo\nthree\n[… 40 more lines left out]\nfifty\nsixty",
        "one\ntwo\nthree …214 tokens truncated… fifty\nsixty\nseventy",
    ],
)
def test_a_result_that_may_not_be_the_file_claims_nothing(text):
    found = ledger_of(*read("r", "a.py", text))
    assert only(found).state == "resident"
    assert not found.is_visible("a.py")
    assert not found.is_visible("a.py", 1, 1)


def test_a_read_that_failed_is_no_copy():
    found = ledger_of(
        step("", ("r", "Read", {"file_path": "a.py"})),
        result("r", listing(1, 30), error=True),
        *edit("e", "a.py"),
    )
    row = only(found, step=1)
    assert (row.state, row.note, row.is_copy) == ("resident", "failed", False)
    assert not found.is_visible("a.py")
    assert found.outdated_note("a.py") == ""


def test_a_message_about_a_file_is_no_copy_of_it():
    found = ledger_of(*read("r", "a.py", "File does not exist."), *edit("e", "a.py"))
    row = only(found, step=1)
    assert (row.state, row.is_copy, row.note) == ("resident", False, "")
    assert found.outdated_note("a.py") == ""


def test_a_line_that_the_tool_may_have_cut_is_not_vouched_for():
    text = "\n".join([listing(1, 4), f"     5→{'x' * 2_500}", listing(6, 9)])
    found = ledger_of(*read("r", "a.py", text))
    assert found.visible_lines("a.py") == ((1, 4), (6, 9))
    assert not found.is_visible("a.py")
    ends = ledger_of(*read("r", "a.py", f"{listing(1, 4)}\n     5→{'x' * 2_500}"))
    assert not ends.is_visible("a.py")


def test_a_cut_listing_does_not_reach_the_end():
    found = ledger_of(*read("r", "a.py", f"{listing(1, 30)}\n[Showing lines 1-30 of 900]"))
    assert found.is_visible("a.py", 1, 30)
    assert not found.is_visible("a.py")


def test_a_row_that_names_how_much_more_there_is_is_no_line_of_the_file():
    rows = "\n".join(f"value_{n}" for n in range(1, 11))
    found = ledger_of(
        *read("r", "a.py", f"{rows}\n\n[187 more lines in file. Use offset=11]", offset=1, limit=10)
    )
    assert found.visible_lines("a.py") == ((1, 10),)
    assert not found.is_visible("a.py", 1, 11)


# Stale


def test_an_edit_makes_what_was_read_before_stale_and_says_so():
    found = ledger_of(*read("r", "a.py", listing(1, 40)), step("Hm."), *edit("e", "a.py"))
    row = only(found, step=1)
    assert (row.state, row.note) == ("stale", "you saw this file before your edit at step 3")
    assert row.tokens == row.size
    assert found.outdated_note("a.py") == row.note
    assert not found.is_visible("a.py", 1, 1)
    assert found.changed == {"a.py": (3,)}


def test_an_edit_of_another_file_or_one_that_failed_changes_nothing():
    found = ledger_of(*read("r", "a.py", listing(1, 40)), *edit("e", "b.py"), *edit("f", "a.py", error=True))
    assert found.is_visible("a.py")
    assert found.outdated_note("a.py") == found.outdated_note("b.py") == ""


def test_reading_again_clears_the_mark_but_not_the_old_row():
    found = ledger_of(
        *read("r", "a.py", listing(1, 40)), *edit("e", "a.py"), *read("s", "a.py", listing(1, 40, "other"))
    )
    assert [row.state for row in found.rows] == ["stale", "resident", "resident"]
    assert found.rows[0].note == "you saw this file before your edit at step 2"
    assert found.changed == {"a.py": (2,)}, "that the words are others is what the edit did"
    assert found.is_visible("a.py")
    assert found.outdated_note("a.py") == ""


def test_what_is_not_on_view_is_not_stale():
    window = window_of(*read("r", "a.py", listing(1, 200)), *edit("e", "a.py"))
    assert only(fold(window, 0, "stub"), step=1).state == "stub"
    row = only(fold(window, 0, "gone"), step=1)
    assert (row.state, row.note) == ("gone", "you saw this file before your edit at step 2")


def test_a_newer_read_of_the_same_lines_is_noted():
    found = ledger_of(*read("r", "a.py", listing(1, 40)), *read("s", "a.py", listing(1, 40)))
    assert [row.note for row in found.rows] == ["read again in step 2", ""]


def test_an_edit_without_a_result_may_have_been_made():
    asked = step("", ("e", "Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}))
    for events in ((asked,), (asked, step("Never mind."))):
        found = ledger_of(*read("r", "a.py", listing(1, 40)), *events)
        assert only(found).state == "stale"
        assert (
            found.outdated_note("a.py") == "you saw this file before your edit at step 2, which has no result"
        )


def test_an_edit_counts_while_other_calls_of_its_step_still_run():
    calls = (
        ("e", "Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}),
        ("s", "Read", {"file_path": "a.py"}),
    )
    found = ledger_of(*read("r", "a.py", listing(1, 40)), step("", *calls), result("e", "done", "Edit"))
    assert not found.is_visible("a.py")
    assert found.outdated_note("a.py") == "you saw this file before your edit at step 2"


@pytest.mark.parametrize(
    ("calls", "answers", "is_fresh"),
    [("er", "er", True), ("re", "re", False), ("er", "re", False), ("re", "er", False)],
)
def test_of_a_step_that_reads_and_edits_only_a_read_that_came_second_is_fresh(calls, answers, is_fresh):
    made = {
        "e": ("e", "Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}),
        "r": ("r", "Read", {"file_path": "a.py"}),
    }
    given = {"e": result("e", "done", "Edit"), "r": result("r", listing(1, 40))}
    found = ledger_of(step("", *(made[c] for c in calls)), *(given[a] for a in answers))
    assert found.is_visible("a.py") is is_fresh


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: b.py\n+x\n*** Update File: a.py\n+x\n"}),
        (
            "exec_command",
            {"cmd": "apply_patch <<'E'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nE"},
        ),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: b.py\n*** Move to: a.py\n"}),
    ],
)
def test_every_file_of_a_patch_is_changed(name, arguments):
    found = ledger_of(
        *read("r", "a.py", listing(1, 40)), step("", ("p", name, arguments)), result("p", "ok", name)
    )
    assert not found.is_visible("a.py")
    assert found.outdated_note("a.py") == "you saw this file before your edit at step 2"


def test_a_read_that_shows_other_words_tells_of_a_change_that_no_call_made():
    found = ledger_of(
        *read("r", "a.py", listing(1, 40)),
        step("", ("f", "Bash", {"command": "make format"})),
        result("f", "ok", "Bash"),
        *read("s", "a.py", listing(20, 25, "formatted"), offset=20, limit=6),
    )
    row = only(found, step=1)
    assert (row.state, row.note) == (
        "stale",
        "you saw this file before it changed: step 3 shows it otherwise",
    )
    assert found.visible_lines("a.py") == ((20, 25),)


# Writes


def test_what_was_written_is_a_copy_of_the_file():
    content = "".join(f"value_{n} = compute({n})\n" for n in range(1, 31))
    found = ledger_of(*write("w", "a.py", content))
    row = only(found, part="argument")
    assert (row.path, row.first, row.last, row.state, row.id) == ("a.py", 1, 30, "resident", text_id(content))
    assert row.tokens == row.size == counter().text(content)
    assert found.is_visible("a.py")
    assert found.is_visible("a.py", 1, 500), "a write tells where the file ends"
    assert found.outdated_note("a.py") == ""
    assert only(found, part="result").size == counter().text("Wrote it")


def test_a_write_makes_older_copies_stale_and_an_edit_the_write():
    content = "".join(f"value_{n} = compute({n})\n" for n in range(1, 31))
    events = (*read("r", "a.py", listing(1, 40)), *write("w", "a.py", content))
    found = ledger_of(*events)
    assert only(found, step=1).note == "you saw this file before you rewrote it at step 2"
    assert found.is_visible("a.py")
    found = ledger_of(*events, *edit("e", "a.py"))
    assert only(found, part="argument").state == "stale"
    assert found.outdated_note("a.py") == "you saw this file before your edit at step 3"


@pytest.mark.parametrize(
    ("level", "state"), [("clipped", "resident"), ("digest", "digest"), ("stub", "stub"), ("gone", "gone")]
)
def test_what_was_written_is_shortened_with_its_step(level, state):
    content = "".join(f"value_{n} = compute({n})\n" for n in range(1, 301))
    found = fold(window_of(*write("w", "a.py", content)), 0, level)
    row = only(found, part="argument")
    assert row.state == state
    assert row.tokens < row.size or state == "resident"
    assert found.is_visible("a.py") is (state == "resident")


@pytest.mark.parametrize(
    ("answer", "more"),
    [
        ("<tool_use_error>File has not been read yet.</tool_use_error>", {}),
        ("Failed to write: permission denied", {}),
        ("The user doesn't want to proceed. The tool use was rejected (the file was NOT written).", {}),
        ("", {}),
        ("Wrote it", {"append": True}),
        ("Wrote it", {"mode": "a"}),
    ],
)
def test_a_write_that_failed_or_only_added_is_no_copy(answer, more):
    found = ledger_of(*write("w", "a.py", "one\ntwo\nthree\nfour\nfive\n", answer, **more))
    assert [row.part for row in found.rows] == ["result"]
    assert not found.is_visible("a.py")


def test_a_short_write_is_brought_back_by_its_entry():
    window = window_of(*write("w", "a.py", "x = 1\n"))
    row = only(visibility_of(window.view()), part="argument")
    assert row.id == row.entry == window.transcript.steps[0].entry
    assert visibility_of(window.view()).is_visible("a.py", 1, 1)


# Recall


def recalled(text: str, *between: object) -> Visibility:
    return ledger_of(*read("r", "a.py", text), *between, *recall_of(text_id(text), text))


def test_what_recall_brings_back_is_named_by_its_source():
    text = listing(1, 40)
    row = recalled(text).rows[-1]
    assert (row.path, row.id, row.state) == ("a.py", text_id(text), "resident")
    assert row.note == "brings back what step 1 showed"


def test_what_is_recalled_twice_has_the_same_source_and_what_failed_has_none():
    text = listing(1, 40)
    twice = (*recall_of(text_id(text), text), *recall_of(text_id(text), text))
    assert recalled(text, *twice).rows[-1].note == "brings back what step 1 showed"
    asked = step("", ("q", "Recall", {"id": text_id(text)}))
    row = ledger_of(*read("r", "a.py", text), asked, result("q", "no such id", "Recall", error=True)).rows[-1]
    assert (row.note, row.path, row.is_copy) == ("failed", "", False)


def test_what_recall_brings_back_is_as_old_as_its_source():
    row = recalled(listing(1, 40), *edit("e", "a.py")).rows[-1]
    assert row.state == "stale"
    assert row.note.endswith("you saw this file before your edit at step 2")


def test_recall_alone_makes_nothing_resident():
    text = listing(1, 200)
    window = window_of(*read("r", "a.py", text), *recall_of(text_id(text), text))
    assert visibility_of(window.view()).is_visible("a.py")
    assert not fold(window, 0, "gone").is_visible("a.py")
