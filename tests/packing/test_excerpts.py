"""Excerpts: the best lines of what was folded, byte for byte, below the calls they came from."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.packing.excerpts import _ranges, numbers_in
from holdfast.packing.first_sight import reduce_at_once
from holdfast.packing.lines.facts import line_key
from holdfast.packing.profile import CODE
from holdfast.tool_use import ToolUse
from support.driving import counter, drive
from support.logs import chained, result, step, user

PROFILE = replace(CODE, first_sight_ratio=0.2)


def test_a_line_is_known_without_its_number():
    assert line_key("   12→\treturn nil") == line_key("return nil") == "return nil"


@given(st.sets(st.integers(0, 500)))
def test_ranges_come_back_as_the_numbers_they_were(numbers):
    assert numbers_in(_ranges(numbers)) == sorted(numbers)


def test_what_is_no_range_is_nothing():
    assert numbers_in("a,1-b,,3") == [3]


def test_first_sight_keeps_the_telling_line_in_the_middle():
    lines = [f"compiling module number {i}" for i in range(400)]
    lines[217] = "src/app/main.py:31: error: undefined name `load_settings`"
    clipped = reduce_at_once(ToolUse("bash", "Bash", command="make"), "\n".join(lines), 400, counter())
    assert lines[217] in clipped
    assert counter().text(clipped) <= 400
    assert lines[0] in clipped
    assert lines[-1] in clipped


def folded_request():
    events = [user("Find out why load_settings fails, and never touch api.py.")]
    for i in range(60):
        noise = "\n".join(f"plain text of no use in row {i} {j}" for j in range(30))
        events += [
            step("", (f"c{i}", "Bash", {"command": f"run --part {i}"})),
            result(f"c{i}", f"{noise}\nerror: part_{i} needs module_{i}.settings\n{noise}", "Bash"),
        ]
    return list(drive(chained(events), PROFILE.scaled_to(16_000)))


def test_a_fold_keeps_the_best_lines_under_their_calls():
    last = folded_request()[-1]
    text = "\n".join(m.parts[0].text for m in last.pack.messages if m.parts and hasattr(m.parts[0], "text"))
    kept = [i for i in range(50) if f"error: part_{i} needs module_{i}.settings" in text]
    assert len(kept) > 10, "telling lines of folded steps stay"
    assert "plain text of no use in row 2 3" not in text
    assert f"Bash command = run --part {kept[0]}" in text
    assert last.pack.tokens <= last.pack.limit
