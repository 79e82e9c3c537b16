"""Forgetting lines: the worst go, what notes show stays, and a log that is read again has forgotten the same."""

from holdfast.packing.lines.forgetting import FEWEST, forget, most_lines
from holdfast.packing.lines.sightings import Sightings
from holdfast.packing.lines.weights import HAND, vectors
from holdfast.packing.lines.worth import Worths
from holdfast.views.transcript import Transcript
from support.logs import chained, result, step, user


def sightings_of(results: list[str]) -> Sightings:
    events = [user("make it pass")]
    for number, text in enumerate(results):
        events += [step("", (f"c{number}", "Bash", {"command": f"run {number}"})), result(f"c{number}", text)]
    found = Sightings(vectors(HAND))
    for item in Transcript(chained(events)).items:
        found.note(item)
    return found


def noise(number: int) -> str:
    return "\n".join(f"passed quietly and without a word {number * 100 + at:05}" for at in range(40))


def test_nothing_is_forgotten_below_the_bound():
    sightings = sightings_of([noise(0)])
    before = list(sightings.lines)
    forget(sightings, len(before))
    assert sightings.lines == before


def test_the_best_lines_stay_in_their_order():
    texts = [noise(n) + f"\nERROR: undefined name broken_part_{n}.py" for n in range(6)]
    sightings = sightings_of(texts)
    lines = sightings.lines
    worths = Worths(sightings, lines)
    best = sorted(sorted(range(len(lines)), key=worths.of, reverse=True)[:30])
    forget(sightings, 30)
    assert [lines[at] for at in best] == sightings.lines
    kept = [line.text for line in sightings.lines]
    assert {f"ERROR: undefined name broken_part_{n}.py" for n in range(6)} <= set(kept)


def test_lines_that_notes_show_stay_whatever_they_are_worth():
    sightings = sightings_of([noise(n) for n in range(6)])
    worths = Worths(sightings, sightings.lines)
    worst = sightings.lines[min(range(len(sightings.lines)), key=worths.of)]
    sightings.kept = {worst.source.place: frozenset({worst.number})}
    forget(sightings, 20)
    assert worst in sightings.lines
    assert len(sightings.lines) <= 21


def test_what_is_remembered_of_names_and_repeats_is_that_of_the_lines_left():
    sightings = sightings_of([noise(n) for n in range(6)])
    forget(sightings, 20)
    assert {*sightings.names} == {name for line in sightings.lines for name in line.names}
    assert {*sightings.repeats} == {line.key for line in sightings.lines}
    assert len(list(sightings.line_scores(sightings.lines))) == len(sightings.lines)


def test_a_larger_window_remembers_more():
    assert most_lines(16_000) == FEWEST
    assert most_lines(1_000_000) > 4 * most_lines(200_000)
