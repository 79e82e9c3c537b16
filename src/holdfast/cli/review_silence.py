"""What `holdfast review` is told not to report: by the configuration and by a baseline.

Rule: a wrong one is refused before anything is reported, with nothing lost: a model's findings are in the log. A
file that is no baseline of this project is never written over.
"""

import os
from pathlib import Path

from msgspec.structs import replace

from holdfast.cli.streams import note, replace_file
from holdfast.review.baseline import baseline_text, read_baseline
from holdfast.review.report import ReviewReport
from holdfast.review.review import Review
from holdfast.review.silence import Silence, hide, parse_ignored


def read_silence(review: Review, baseline: str, reports_all: bool) -> Silence:
    """With `reports_all`, of comments and configuration nothing is heeded."""
    # Imported late: a review in a folder without a configuration should not wait for it.
    from holdfast.config import load_config  # noqa: PLC0415

    config = load_config(cwd=Path.cwd(), env=os.environ)
    ignored = () if reports_all else parse_ignored(config.review, config.where)
    known = read_baseline(Path(baseline), review.root, review.diff) if baseline else ()
    return Silence(
        ignored=ignored,
        where=config.where,
        baseline=frozenset(entry.id for entry in known),
        baseline_name=baseline,
        heeds_comments=not reports_all,
    )


def write_baseline(path: Path, report: ReviewReport, review: Review, silence: Silence) -> Silence:
    """Add to the baseline what is reported now; what a comment or the configuration hides is not added."""
    known = read_baseline(path, review.root, review.diff) if path.exists() else ()
    found = hide(report, review, silence).findings.kept
    replace_file(path, [baseline_text(known, found).encode()])
    ids = silence.baseline | {one.id for one in found}
    note(f"{len(found)} added to the baseline `{path}`, which lists {len(ids)}")
    return replace(silence, baseline=ids, baseline_name=str(path))
