"""What the rules of `holdfast review` say about commits that people made: how often each one speaks, and where.

    python benchmarks/review_alarms.py [REPOSITORY…] [--until REVISION] [--commits 100] [--show]

Commits that were kept are mostly right, so that most of what is found in them is a false alarm, or something that
somebody chose not to mind: `--show` lists each finding, to judge. Merges are left out, and so is a commit that this
copy of the repository has not whole. With several repositories a table of findings of medium severity and above
comes first.
"""

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import InputError
from holdfast.review.checks import RULES
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.review import start_review


def commits(repository: Path, until: str, most: int) -> list[str]:
    words = ["git", "-C", str(repository), "rev-list", "--no-merges", f"--max-count={most}", until, "--"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


class Measured(NamedTuple):
    repository: Path
    commits: int
    lines: int
    found: list[tuple[str, Finding]]

    @property
    def alarms(self) -> list[tuple[str, Finding]]:
        least = SEVERITIES.index("medium")
        return [(commit, one) for commit, one in self.found if SEVERITIES.index(one.severity) >= least]


def measure(repository: Path, until: str, most: int) -> Measured:
    found: list[tuple[str, Finding]] = []
    lines = read = 0
    for commit in commits(repository, until, most):
        try:
            review = start_review(repository, commit)
        except InputError as error:
            print(f"left out: {commit[:9]}: {error.message}", file=sys.stderr)
            continue
        read += 1
        lines += sum(unit.metrics.added for unit in review.units)
        found += [(commit, finding) for finding in review.findings.ranked()]
    return Measured(repository, read, lines, found)


def print_alarms(measured: list[Measured]) -> None:
    print("| repository | at | commits | added lines | medium and above | in commits | `secret` |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for one in measured:
        head = commits(one.repository, "HEAD", 1)[0][:9]
        secrets = sum(finding.rule == "secret" for _, finding in one.alarms)
        touched = len({commit for commit, _ in one.alarms})
        name = one.repository.parent.name if one.repository.name in ("repo", ".git") else one.repository.name
        row = f"| {name} | `{head}` | {one.commits} | {one.lines:,} | {len(one.alarms)} | {touched} | {secrets} |"
        print(row)
    print()


def print_rules(one: Measured, *, shows: bool) -> None:
    counts = Counter(finding.rule for _, finding in one.found)
    touched = Counter(rule for rule, _ in {(finding.rule, commit) for commit, finding in one.found})
    print(f"{one.repository}: {one.commits} commits, {one.lines} added lines, {len(one.found)} findings\n")
    print("| rule | severity | findings | in commits |")
    print("| --- | --- | ---: | ---: |")
    for rule in sorted(RULES.values(), key=lambda rule: -SEVERITIES.index(rule.severity)):
        if counts[rule.name]:
            print(f"| `{rule.name}` | {rule.severity} | {counts[rule.name]} | {touched[rule.name]} |")
    for commit, finding in one.found if shows else ():
        shown = finding.evidence[0].strip()[:100] if finding.evidence else ""
        print(f"{commit[:9]} {finding.severity:8} {finding.rule:22} {finding.path}:{finding.line}  {shown}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--until", default="HEAD")
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    measured = [measure(one, options.until, options.commits) for one in options.repositories]
    if len(measured) > 1:
        print_alarms(measured)
    for one in measured:
        print_rules(one, shows=options.show)


if __name__ == "__main__":
    main()
