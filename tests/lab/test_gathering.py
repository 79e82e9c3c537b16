"""Whole replays in this process: what of them ends up in the report."""

import msgspec
import pytest

from holdfast.errors import InputError
from holdfast.lab.jobs import VARIATIONS, JobOutcome, RecordingSources, ReplayOptions
from holdfast.lab.replay import ReplayCollector, ReportOptions, default_reference, replay
from holdfast.lab.results import ReplayReport, Score
from holdfast.lab.workers import LocalWorkers
from holdfast.prices import BUILT_IN
from support.evidence_recordings import make_recording, replies, write_recordings

ORDER = ReplayOptions(("newest", "clear", "mask"), (1_000, 1_600), tuple(BUILT_IN.values()))
MEASURED = ("p50_ms", "p95_ms", "worst_ms", "growth", "peak_mb")
"""What no two runs agree on."""


def run(*files, order=ORDER, options=None, **heard) -> ReplayReport:
    sources = RecordingSources(tuple(files))
    return replay(order, sources, sources.load()[0], options or ReportOptions(draws=20), **heard)


@pytest.fixture
def file(tmp_path):
    return write_recordings(
        tmp_path / "a.jsonl", make_recording("one"), make_recording("two", 12, source="other")
    )


def settled(report: ReplayReport) -> dict:
    """A report as JSON, without time and memory."""
    plain = msgspec.json.decode(msgspec.json.encode(report))
    del plain["seconds"]
    plain["rows"] = [{k: v for k, v in row.items() if k not in MEASURED} for row in plain["rows"]]
    return plain


def test_a_report_says_what_it_was_made_of(file):
    report = run(file)
    assert (report.files, report.recordings) == (["a.jsonl"], 2)
    assert report.projects == {"evidence": 1, "other": 1}
    assert report.budgets == [1_000, 1_600]
    assert {(row.policy, row.budget) for row in report.rows} == {
        (policy, budget) for policy in ("everything", *ORDER.policies) for budget in report.budgets
    }
    assert report.needs > 0
    assert report.hard_needs[1_000] >= report.hard_needs[1_600] > 0
    requests = len(replies(make_recording("one"))) + len(replies(make_recording("two", 12)))
    assert {row.requests for row in report.rows} == {requests}
    full = [row for row in report.rows if row.policy == "everything"]
    assert [(row.hard.mean, row.all.mean, row.dollars["standard"].mean) for row in full] == [(1, 1, 1)] * 2
    assert (report.partial, report.notes, report.sensitivity, report.pictures) == ("", [], [], [])


def test_a_second_run_gives_the_same_figures(file):
    order = msgspec.structs.replace(ORDER.varied(), pictures=True)
    assert settled(run(file, order=order)) == settled(run(file, order=order))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_however_many_workers_share_out_a_recording_the_figures_are_the_same(file, workers):
    order = msgspec.structs.replace(ORDER.varied(), pictures=True, why=True)
    alone = run(file, order=order)
    done = []
    assert settled(run(file, order=order, workers=LocalWorkers(workers), done=done.append)) == settled(alone)
    assert len(done) > 2
    assert sum(done) == RecordingSources((file,)).load()[1]


def test_the_same_id_in_two_files_stays_two_recordings(tmp_path):
    files = [write_recordings(tmp_path / f"{name}.jsonl", make_recording("same", 12)) for name in "ab"]
    report = run(*files)
    single = run(files[0])
    assert (report.recordings, report.projects) == (2, {"evidence": 2})
    assert report.needs == 2 * single.needs
    assert [row.requests for row in report.rows] == [2 * row.requests for row in single.rows]
    assert run(*files, order=msgspec.structs.replace(ORDER, project_from="file")).projects == {"a": 1, "b": 1}
    by_recording = run(*files, order=msgspec.structs.replace(ORDER, project_from="recording"))
    assert len(by_recording.projects) == 1, "a project by recording is what the file calls it"


@pytest.mark.parametrize(
    ("policies", "reference"),
    [
        (["everything", "newest", "code"], "code"),
        (["everything", "newest", "mask"], "newest"),
        (["mask", "everything"], "mask"),
        (["everything"], "everything"),
    ],
)
def test_what_the_others_are_compared_with(policies, reference):
    assert default_reference(policies) == reference


def test_comparisons_are_with_the_one_asked_for(file):
    assert {c.reference for c in run(file).comparisons} == {"newest"}
    report = run(file, options=ReportOptions("mask", draws=20))
    assert {(c.policy, c.reference) for c in report.comparisons} >= {("newest", "mask"), ("clear", "mask")}
    assert "mask" not in {c.policy for c in report.comparisons}


def test_sensitivity_has_a_tau_for_every_variation_and_budget(file):
    report = run(file, order=ORDER.varied())
    wanted = {(name, budget) for name, _ in VARIATIONS for budget in ORDER.budgets}
    assert {(row.variation, row.budget) for row in report.sensitivity} == wanted
    for row in report.sensitivity:
        assert sorted(row.order) == sorted(ORDER.policies)
        assert row.tau is None or -1 <= row.tau <= 1
    assert any(row.tau is not None for row in report.sensitivity)
    assert settled(report)["rows"] == settled(run(file))["rows"]


def test_recordings_with_little_to_score_are_grouped_by_why(tmp_path):
    dull = [make_recording(f"dull_{n}", 2) for n in range(5)]
    alone = {**make_recording("alone"), "messages": [{"role": "user", "content": "hello"}]}
    report = run(write_recordings(tmp_path / "a.jsonl", *dull, alone, make_recording("fine")))
    assert report.notes == [
        "5 of the recordings: no action used earlier text (dull_0, dull_1, dull_2, …)",
        "1 of the recordings: no reply in it, so no request (alone)",
    ]
    assert report.recordings == 7
    assert all(row.hard is not None for row in report.rows)


def test_a_recording_that_cannot_be_read_is_said_and_the_rest_goes_on(tmp_path):
    broken = [{"id": f"b{n}", "source": "s", "messages": 7} for n in range(23)]
    report = run(write_recordings(tmp_path / "a.jsonl", make_recording("fine"), *broken))
    assert report.notes[0].startswith("b0 was not replayed: a.jsonl line 2 has no list of `messages`")
    assert (len(report.notes), report.notes[-1]) == (21, "and 3 more like these")
    assert report.projects == {"evidence": 1}


def test_a_recording_whose_process_died_is_said():
    gathered = ReplayCollector(ORDER, ReportOptions(draws=1))
    gathered.take(JobOutcome(0, "one", error="its process died"))
    gathered.take(JobOutcome(1, "two", error="no idea"))
    report = gathered.report([], [])
    assert report.notes == ["one was not replayed: its process died", "two was not replayed: no idea"]
    assert (report.recordings, report.rows) == (2, [])


@pytest.mark.parametrize(
    ("wanted", "drawn"), [("", "one"), ("two", "two"), ("tw", "two"), ("wo", "two"), ("on", "one")]
)
def test_the_picture_is_of_the_recording_asked_for_or_the_longest(file, wanted, drawn):
    report = run(
        file,
        order=msgspec.structs.replace(ORDER, pictures=True),
        options=ReportOptions(picture=wanted, draws=1),
    )
    assert {picture.recording for picture in report.pictures} == {drawn}
    assert {(p.policy, p.budget) for p in report.pictures} == {
        (row.policy, row.budget) for row in report.rows
    }
    steps = 14 if drawn == "one" else 12
    assert [moment.index for moment in report.pictures[0].moments] == replies(make_recording(drawn, steps))


def test_a_picture_of_nothing_is_said(file):
    order = msgspec.structs.replace(ORDER, pictures=True)
    report = run(file, order=order, options=ReportOptions(picture="nobody", draws=1))
    assert report.pictures == []
    assert report.notes == ["no recording fits `nobody`, so there is no picture"]


def test_sizes_are_told_as_recordings_are_done(file):
    done = []
    run(file, done=done.append)
    assert (len(done), sum(done)) == (2, RecordingSources((file,)).load()[1])


def test_what_is_interrupted_is_a_partial_result(file):
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    report = run(file, done=interrupt, options=ReportOptions(checks=True, draws=2))
    assert report.partial == "interrupted after 1 of 2 recordings"
    assert report.projects == {"evidence": 1}
    assert {tuple(row.checks) for row in report.rows} == {()}


def test_no_recording_is_refused(tmp_path):
    empty = tmp_path / "list.json"
    empty.write_text("[]")
    with pytest.raises(InputError):
        run(empty)


def test_scores_keep_no_pictures(file):
    """Memory grows with recordings by their figures, not by their steps."""
    gathered = ReplayCollector(msgspec.structs.replace(ORDER, pictures=True), ReportOptions())
    moments = [object()] * 3
    for number in range(4):
        score = Score(f"r{number}", "p", "newest", 1_000, requests=3, moments=moments)
        gathered.take(JobOutcome(number, score.recording, ((score,),)))
    assert all(not score.moments for scores in gathered._scores for score in scores)
    assert [picture.recording for picture in gathered._pictures] == ["r0"]
