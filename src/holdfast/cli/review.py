"""`holdfast review`: the parts of a change by risk, and what is wrong in it.

Rule: the report is the only thing on stdout, in one form: for a person on a terminal, Markdown everywhere else, or
what was asked for.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from holdfast.cli.options import common_options, json_option
from holdfast.cli.output import hint, note, printable, say, write
from holdfast.errors import HoldfastError, InputError
from holdfast.review.finding import SEVERITIES, Severity
from holdfast.review.findings import exceeds
from holdfast.review.reading.decoding import decoded
from holdfast.review.reading.git import MOST_DIFF
from holdfast.review.reading.repository import repository_of
from holdfast.review.reports import Report, to_json, to_markdown, to_sarif
from holdfast.review.review import Review, begin_review

FOUND = 1
STDIN = STDOUT = "-"

EXAMPLES = """\b
Examples:
  holdfast review
  holdfast review --diff staged --no-model --fail-on high
  holdfast review --diff main...HEAD --markdown > review.md
  holdfast review --diff HEAD --sarif -o review.sarif
  git diff v1 v2 | holdfast review --diff - --json

\b
Exit code 1 if something is found that is as severe as --fail-on says."""

NOTHING = {
    "working": ("nothing has changed in the working tree", "`--diff HEAD` reviews the last commit"),
    "staged": ("nothing is staged", "`git add` stages, `--diff working` reviews what is not"),
}


def _offered(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `--diff` may be; files where nothing else begins like this."""
    head, dots, _rest = incomplete.rpartition("..")
    words = [] if dots else ["working", "staged"]
    names = [head + dots + name for name in ("HEAD", *_revisions())]
    items = [CompletionItem(name) for name in (*words, *names) if name.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


def _revisions() -> list[str]:
    """Branches and tags of this repository."""
    with suppress(HoldfastError):
        asked = ("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
        return decoded(repository_of(Path.cwd()).ask(*asked)).split()
    return []


@click.command(epilog=EXAMPLES)
@click.option(
    "--diff",
    "spec",
    metavar="WHAT",
    default="working",
    show_default=True,
    shell_complete=_offered,
    help="working, staged, A...B, A..B, a commit, a file that holds a diff, or `-`.",
)
@click.option("--no-model", is_flag=True, help="By rules alone, and nothing said about it.")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit code 1 if something found is as severe.")
@json_option
@click.option("--markdown", is_flag=True, help="Markdown on stdout, on a terminal too.")
@click.option("--sarif", is_flag=True, help="SARIF 2.1.0 on stdout, for code scanning.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing at all, unless the exit code is 1.")
@click.option("-o", "--output", metavar="FILE", default=STDOUT, help="A file instead of stdout.")
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    spec: str,
    no_model: bool,
    fail_on: Severity | None,
    as_json: bool,
    markdown: bool,
    sarif: bool,
    quiet: bool,
    output: str,
) -> None:
    """Review a change: its parts by risk, and what is wrong in it.

    The change is cut into units, each with its risk and how closely to look at it. Rules look for secrets, conflict
    markers, breakpoints, deleted or weakened tests, lock files left behind and more; nothing of it is run.
    """
    if sum((as_json, markdown, sarif)) > 1:
        raise InputError("a report has one form: `--json`, `--markdown` or `--sarif`", hint="drop the others")
    review = read_review(spec)
    report = looked_at(review, no_model=no_model)
    failed = fail_on is not None and exceeds(report.findings.kept, fail_on)
    if not quiet or failed:
        form = to_json if as_json else to_sarif if sarif else to_markdown if markdown else None
        _show(report, form, output)
        _tell(review, spec, report, output)
    if failed:
        ctx.exit(FOUND)


def read_review(spec: str) -> Review:
    """The change that a person named, cut into units and looked at by the rules."""
    with _telling() as tell:
        if spec != STDIN:
            return begin_review(Path.cwd(), spec, tell=tell)
        tell("reading stdin")
        return begin_review(Path.cwd(), "stdin", text=_piped(), tell=tell)


def looked_at(review: Review, *, no_model: bool) -> Report:
    """What is told of it."""
    if not no_model and not _model_name():
        note(
            "no model is chosen, so only the rules have looked; `HOLDFAST_MODEL` or `default_model` chooses one, "
            "`--no-model` says that none is wanted"
        )
    return review.report()


def _model_name() -> str:
    # Loaded late: a hook does without, and it takes longer than all rules together.
    from holdfast.config import load_config  # noqa: PLC0415
    from holdfast.models.choosing import model_name  # noqa: PLC0415

    return model_name("", load_config(cwd=Path.cwd(), env=os.environ), os.environ)


def _piped() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("nothing is piped in", hint="`git diff | holdfast review --diff -`")
    raw = sys.stdin.buffer.read(MOST_DIFF + 1)
    if len(raw) > MOST_DIFF:
        raise InputError(
            f"what is piped in is larger than {MOST_DIFF // 2**20} MiB", hint="review fewer files at once"
        )
    return decoded(raw)


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """What is being done, in one line of a terminal that is gone afterwards."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return

    def tell(words: str) -> None:
        sys.stderr.write(f"\r\x1b[K{printable(words)} …")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _show(report: Report, form: Callable[[Report], str] | None, output: str) -> None:
    if output != STDOUT:
        _write_file(Path(output), (form or to_markdown)(report))
    elif form is None and sys.stdout.isatty():
        # Loaded late: only a terminal needs it, and what draws on one.
        from holdfast.cli.reviewed import print_report  # noqa: PLC0415

        print_report(report)
    else:
        write((form or to_markdown)(report))


def _write_file(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise InputError(f"`{path}` cannot be written: {error.strerror}", hint="check the folder") from None


def _tell(review: Review, spec: str, report: Report, output: str) -> None:
    for sentence in review.notes:
        note(sentence)
    if not review.units:
        sentence, what_else = NOTHING.get(spec, ("there is nothing in this diff", ""))
        note(sentence)
        hint(what_else)
    elif output != STDOUT:
        say(f"{report.size}; findings: {report.found}; written to `{output}`")
