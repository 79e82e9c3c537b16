"""What counts as measured: only what this iteration put on the disk, inside the folder, each sample once."""

import json

import pytest

from holdfast.agents.pair.delivery import handover_faults
from holdfast.pair.evaluation import UnreadableResults, read_evaluation
from holdfast.pair.handover import FileNote, Handover, HandoverProblem, SuccessRate
from holdfast.pair.roles import built_in_pair
from holdfast.pair.stop_rules import evidence
from support.pair_values import layout_in, write_results

EXECUTE = built_in_pair().roles[1]
RESULTS, CAUSES, SAMPLES = "evaluation_results", "attribution_analysis", "samples"


@pytest.fixture
def layout(tmp_path):
    layout = layout_in(tmp_path / "work")
    write_results(layout, 1, 2, {"f1": (2, "high")})
    (layout.root / "design.md").write_text("R1")
    return layout


def folder_of(layout, part):
    return layout.root / layout.outputs.iteration(1) / part


def wrong(layout, **more):
    given = {"success": SuccessRate(2, 3), **more}
    made = Handover(summary="s", asks="a", files=(FileNote("design.md"),), **given)
    return handover_faults(made, EXECUTE, layout, 1)


def test_what_is_there_is_counted(layout):
    assert wrong(layout) == ()
    evaluation = read_evaluation(layout, 1)
    assert evaluation.samples == {"p00", "p01", "f1"}
    assert read_evaluation(layout, 1).results == evaluation.results
    assert read_evaluation(layout, 7).results.total == 0


def test_samples_without_a_result_are_named(layout):
    for number in range(9):
        (folder_of(layout, SAMPLES) / f"p{number:02}.json").write_text("{}")
    (found,) = wrong(layout)
    assert "no result of `p02.json`" in found
    assert "and 2 more of `execution_outputs/iteration_1/samples`" in found


@pytest.mark.parametrize("ending", [".txt", "", ".json"])
def test_samples_are_whatever_lies_there(layout, ending):
    for name in ("p00", "p01", "f1", "left"):
        (folder_of(layout, SAMPLES) / f"{name}{ending}").write_text("x")
    (folder_of(layout, SAMPLES) / ".gitkeep").write_text("")
    (found,) = wrong(layout)
    assert f"no result of `left{ending}`" in found


def test_a_result_without_a_sample_is_none(layout):
    for name in ("p00", "f1"):
        (folder_of(layout, SAMPLES) / f"{name}.txt").write_text("x")
    (found,) = wrong(layout)
    assert "results of `p01`, which are no samples in `execution_outputs/iteration_1/samples`" in found


def test_a_sample_is_known_by_the_name_of_its_file_too(layout):
    for name in ("p00", "p01", "f1"):
        (folder_of(layout, SAMPLES) / f"{name}.json").write_text("{}")
    for part, value in ((SAMPLES, {}), (RESULTS, {"sample": "seven", "passed": True})):
        (folder_of(layout, part) / "s07.json").write_text(json.dumps(value))
    assert wrong(layout, success=SuccessRate(3, 4)) == ()


@pytest.mark.parametrize("part", [RESULTS, CAUSES])
def test_one_sample_in_two_files_is_named_and_none_of_them_wins(layout, part):
    for name in ("a", "b"):
        (folder_of(layout, part) / f"{name}.json").write_text('{"sample": "s1", "passed": true}')
    (found,) = wrong(layout)
    assert f"{part}/a.json`" in found
    assert f"{part}/b.json` are both of the sample `s1`" in found


@pytest.mark.parametrize("part", [RESULTS, CAUSES, SAMPLES])
def test_a_folder_that_is_a_link_out_is_not_read(layout, tmp_path, part):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "s.json").write_text('{"passed": true}')
    folder = folder_of(layout, part)
    folder.rename(tmp_path / "away")
    folder.symlink_to(outside)
    (found,) = wrong(layout)
    assert f"{part}` is a link that leads out of the folder" in found


def test_a_file_that_is_a_link_out_is_not_read(layout, tmp_path):
    (tmp_path / "s.json").write_text('{"passed": true}')
    (folder_of(layout, RESULTS) / "s.json").symlink_to(tmp_path / "s.json")
    with pytest.raises(UnreadableResults, match=r"s\.json` is a link that leads out"):
        read_evaluation(layout, 1)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"passed": true, "sample": "\xff\xfe"}', "is not UTF-8"),
        (b'{"passed": true, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "is nested too deeply"),
        (b'{"passed": true, "sample": "' + b"s" * 201 + b'"}', "is not a valid result"),
    ],
    ids=["bytes", "depth", "name"],
)
@pytest.mark.parametrize("part", [RESULTS, CAUSES])
def test_what_no_decoder_takes_is_named(layout, part, content, why):
    (folder_of(layout, part) / "x.json").write_bytes(content)
    (found,) = wrong(layout)
    assert f"{part}/x.json` {why}" in found


def test_a_name_that_is_no_text_is_named(layout):
    (folder_of(layout, RESULTS) / "a\nb.json").write_text('{"passed": true}')
    (found,) = wrong(layout)
    assert "'a\\nb.json'" in found


@pytest.mark.parametrize(
    "cause",
    [{"layer": -7}, {"layer": 10}, {"layer": 10**40}, {"problem": "x" * 2_001}],
    ids=["below", "above", "huge", "long"],
)
def test_a_cause_has_one_of_nine_layers_and_few_words(layout, cause):
    (folder_of(layout, CAUSES) / "f1.json").write_text(json.dumps(cause))
    (found,) = wrong(layout)
    assert f"{CAUSES}/f1.json` is not a valid result" in found


def test_a_line_about_an_iteration_stays_short(tmp_path):
    layout = layout_in(tmp_path / "many")
    write_results(layout, 1, 1, {f"f{n}": (n % 9 + 1, "low") for n in range(300)})
    (line,) = evidence([read_evaluation(layout, 1).results])
    assert len(line) < 250


def test_what_is_said_of_samples_and_counts_is_compared_with_the_disk(layout):
    problem = HandoverProblem("z", 2, "high", ("f1", "no_such", "nor_this"))
    found = wrong(layout, problems=(problem,), counts={"samples": 5_000, "failures": 77, "rules": 4})
    assert found == (
        "`counts` says 5000 `samples`, the disk says 3",
        "`counts` says 77 `failures`, the disk says 1",
        "`problems` names `no_such`, `nor_this`, of which there is no result",
    )
    right = HandoverProblem("z", 2, "high", ("f1",))
    assert wrong(layout, problems=(right,), counts={"samples": 3, "failures": 1}) == ()
