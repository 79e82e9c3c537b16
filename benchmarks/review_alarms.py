"""What the rules of `holdfast review` say about commits that people made: how often each one speaks, and where.

    python benchmarks/review_alarms.py [REPOSITORY] [--until REVISION] [--commits 100] [--show]

Commits that were kept are mostly right, so that most of what is found in them is a false alarm, or something that
somebody chose not to mind: `--show` lists each finding, to judge. Merges are left out.
"""

import argparse
import subprocess
from collections import Counter
from pathlib import Path

from holdfast.review.checks import RULES
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.review import start_review


def commits(repository: Path, until: str, most: int) -> list[str]:
    words = ["git", "-C", str(repository), "rev-list", "--no-merges", f"--max-count={most}", until, "--"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", nargs="?", type=Path, default=Path())
    parser.add_argument("--until", default="HEAD")
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    found: list[tuple[str, Finding]] = []
    touched: Counter[str] = Counter()
    lines = 0
    chosen = commits(options.repository, options.until, options.commits)
    for commit in chosen:
        review = start_review(options.repository, commit)
        lines += sum(unit.metrics.added for unit in review.units)
        found += [(commit, finding) for finding in review.findings.ranked()]
        touched.update({finding.rule for finding in review.findings.kept})
    counts = Counter(finding.rule for _, finding in found)
    print(f"{len(chosen)} commits, {lines} added lines, {len(found)} findings\n")
    print("| rule | severity | findings | in commits |")
    print("| --- | --- | ---: | ---: |")
    for rule in sorted(RULES.values(), key=lambda rule: -SEVERITIES.index(rule.severity)):
        if counts[rule.name]:
            print(f"| `{rule.name}` | {rule.severity} | {counts[rule.name]} | {touched[rule.name]} |")
    for commit, finding in found if options.show else ():
        shown = finding.evidence[0].strip()[:100] if finding.evidence else ""
        print(f"{commit[:9]} {finding.severity:8} {finding.rule:22} {finding.path}:{finding.line}  {shown}")


if __name__ == "__main__":
    main()
