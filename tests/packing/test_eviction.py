"""Forgetting lines: the worst go, what notes show stays, and a log that is read again has forgotten the same."""

from holdfast.packing.lines.excerpts import kept_lines
from holdfast.packing.lines.line_index import LogLineIndex
from holdfast.packing.lines.scoring import FEWEST, LineScores, evict_lines, line_limit
from holdfast.packing.lines.weights import HAND_WEIGHTS, weight_vectors
from holdfast.views.transcript import Transcript
from support.logs import chained, result, step, user


def line_index_of(results: list[str]) -> LogLineIndex:
    events = [user("make it pass")]
    for number, text in enumerate(results):
        events += [step("", (f"c{number}", "Bash", {"command": f"run {number}"})), result(f"c{number}", text)]
    found = LogLineIndex(weight_vectors(HAND_WEIGHTS))
    for item in Transcript(chained(events)).items:
        found.note(item)
    return found


def noise(number: int) -> str:
    return "\n".join(f"passed quietly and without a word {number * 100 + at:05}" for at in range(40))


def test_nothing_is_forgotten_below_the_bound():
    line_index = line_index_of([noise(0)])
    before = list(line_index.lines)
    evict_lines(line_index, len(before))
    assert line_index.lines == before


def test_the_best_lines_stay_in_their_order():
    texts = [noise(n) + f"\nERROR: undefined name broken_part_{n}.py" for n in range(6)]
    line_index = line_index_of(texts)
    lines = line_index.lines
    scores = LineScores(line_index, lines)
    best = sorted(sorted(range(len(lines)), key=scores.of, reverse=True)[:30])
    evict_lines(line_index, 30)
    assert [lines[at] for at in best] == line_index.lines
    kept = [line.text for line in line_index.lines]
    assert {f"ERROR: undefined name broken_part_{n}.py" for n in range(6)} <= set(kept)


def test_lines_that_notes_show_stay_whatever_they_are_worth():
    line_index = line_index_of([noise(n) for n in range(6)])
    scores = LineScores(line_index, line_index.lines)
    worst = line_index.lines[min(range(len(line_index.lines)), key=scores.of)]
    shown = kept_lines({worst.source.place: [worst.number]})
    evict_lines(line_index, 20, shown)
    assert worst in line_index.lines
    assert len(line_index.lines) <= 21


def test_what_is_remembered_of_names_and_repeats_is_that_of_the_lines_left():
    line_index = line_index_of([noise(n) for n in range(6)])
    evict_lines(line_index, 20)
    assert {*line_index.names} == {name for line in line_index.lines for name in line.names}
    assert {*line_index.repeats} == {line.key for line in line_index.lines}
    assert len(list(line_index.line_scores(line_index.lines))) == len(line_index.lines)


def test_a_larger_window_remembers_more():
    assert line_limit(16_000) == FEWEST
    assert line_limit(1_000_000) > 4 * line_limit(200_000)
