"""How well the rule half reads a log, and how fast: directives against labels, facts per recording, seconds; and
what each kind of fact brings.

    HOLDFAST_RECORDINGS=folder python benchmarks/rule_half.py

Directives are compared with `tests/compaction/directive_labels.tsv`, which says how its labels were decided. Times
are CPU time, since machines are shared. What a fact brings is measured at recorded compactions: how many of the
identifiers that were used later the rule half keeps without it (see `recorded_compactions.py`).
"""

import os
import statistics
import sys
import time
from pathlib import Path

from later_use import boundaries_in, count, names_kept, used_later
from msgspec.structs import replace
from recorded_compactions import rule_half

from holdfast.compaction.facts.extract import extract_facts
from holdfast.compaction.facts.fact import LogFacts
from holdfast.events import Entry
from holdfast.recordings.recording_files import read_recordings
from holdfast.views.directives import directives
from holdfast.views.transcript import Transcript

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.directive_labels import Labelled, read_labels, read_messages, score

LISTS = ("directives", "files", "commands", "errors", "attempts", "decisions", "todos", "keys")


def main() -> None:
    folder = os.environ.get("HOLDFAST_RECORDINGS")
    files = sorted(Path(folder).glob("*.jsonl.gz")) if folder else []
    if not folder or not files:
        sys.exit("error: HOLDFAST_RECORDINGS names no folder with *.jsonl.gz files")
    report_directives(Path(folder))
    report_facts(files)
    report_ablation(files)


def report_directives(folder: Path) -> None:
    labels = read_labels()
    texts = read_messages(folder, labels)
    halves: dict[str, list[Labelled]] = {
        "tuned on": [label for label in labels if label.is_tuned_on],
        "not tuned on": [label for label in labels if not label.is_tuned_on],
        "all": labels,
    }
    print(
        f"{'directives':<14}{'messages':>9}{'labels':>8}{'recall':>8}{'precision':>11}{'arguable as wrong':>19}"
    )
    for name, half in halves.items():
        result = score(half, texts, directives)
        print(
            f"{name:<14}{result.messages:>9}{result.labels:>8}{result.recall:>8.3f}"
            f"{result.precision:>11.3f}{result.strict_precision:>19.3f}"
        )


def report_facts(files: list[Path]) -> None:
    counts: dict[str, list[int]] = {name: [] for name in LISTS}
    times: list[tuple[float, int]] = []
    for file in files:
        for recording in read_recordings(file):
            transcript = Transcript(
                Entry(f"e{n}", recording.id, n, None, recorded.event)
                for n, recorded in enumerate(recording.events)
                if not recorded.chain
            )
            began = time.process_time()
            facts = extract_facts(transcript)
            times.append((time.process_time() - began, size_of(transcript)))
            for name in LISTS:
                counts[name].append(len(getattr(facts, name)))
    print(
        f"\n{len(times)} recordings, {sum(size for _, size in times) / 1e6:.1f} M characters of calls and results"
    )
    slowest, size = max(times)
    total = sum(seconds for seconds, _ in times)
    print(f"{total:.2f} s in all; the slowest takes {slowest:.3f} s for {size / 1e6:.2f} M characters")
    print(f"\n{'facts':<12}{'median':>8}{'90%':>8}{'most':>8}")
    for name, found in counts.items():
        ninth = statistics.quantiles(found, n=10)[-1]
        print(f"{name:<12}{statistics.median(found):>8.0f}{ninth:>8.0f}{max(found):>8}")


def size_of(transcript: Transcript) -> int:
    steps = transcript.steps
    results = sum(len(result.text) for step in steps for result in step.results.values())
    return results + sum(len(str(call.arguments)) for step in steps for call in step.calls.values())


def report_ablation(files: list[Path]) -> None:
    boundaries = [
        boundary
        for file in files
        for recording in read_recordings(file)
        for boundary in boundaries_in(recording, file.name.split(".")[0])
    ]
    known = [(b, used_later(b), extract_facts(Transcript(b.entries()))) for b in boundaries]
    known = [(boundary, used, facts) for boundary, used, facts in known if used]
    if not known:
        return
    print(
        f"\n{'without':<12}{'kept':>8}{'tokens':>8}   of {sum(len(used) for _, used, _ in known)} identifiers"
    )
    empty = LogFacts()
    for dropped in ("", *LISTS, "goal", "latest", "tests", "last_said"):
        change = {dropped: getattr(empty, dropped)} if dropped else {}
        texts = [rule_half(replace(facts, **change), boundary.tokens) for boundary, _, facts in known]
        kept = sum(len(names_kept(used, text)) for (_, used, _), text in zip(known, texts, strict=True))
        print(f"{dropped or 'nothing':<12}{kept:>8}{statistics.mean(map(count, texts)):>8.0f}")


if __name__ == "__main__":
    main()
