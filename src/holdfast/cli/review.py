"""`holdfast review`: the parts of a change by risk, and what is wrong in it.

Rule: the report is the only thing on stdout, in one form: for a person on a terminal, Markdown everywhere else, or
what was asked for.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from holdfast.cli.options import (
    PositiveAmount,
    common_options,
    complete_with,
    json_option,
    make_agent_options,
    profile_option,
)
from holdfast.cli.streams import hint, note, printable, say, write
from holdfast.errors import HoldfastError, InputError
from holdfast.review.finding import SEVERITIES, Severity
from holdfast.review.findings import reaches_severity
from holdfast.review.git_changes import MOST_DIFF
from holdfast.review.reports import ReviewReport, to_json, to_markdown, to_sarif
from holdfast.review.repository import open_repository
from holdfast.review.review import Review, start_review
from holdfast.review.versions import decode_text

FOUND = 1
STDIN = STDOUT = "-"

EXAMPLES = """\b
Examples:
  holdfast review
  holdfast review --diff staged --no-model --fail-on high
  holdfast review --diff main...HEAD --markdown > review.md
  holdfast review --model anthropic/claude-opus-4-8 "mind the locking"
  holdfast review --continue "why is f-0123456789ab high?"
  holdfast review --diff HEAD --sarif -o review.sarif
  git diff v1 v2 | holdfast review --diff - --json

\b
Exit code 1 if something is found that is as severe as --fail-on says."""

UNASKED = (
    "no model is chosen, so only the rules looked; `--model`, `HOLDFAST_MODEL` or `default_model` chooses one, "
    "`--no-model` says that none is wanted"
)
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
        return decode_text(open_repository(Path.cwd()).run(*asked)).split()
    return []


@click.command(epilog=EXAMPLES)
@click.argument("request", metavar="[TEXT]", default="")
@click.option(
    "--diff",
    "spec",
    metavar="WHAT",
    default="working",
    show_default=True,
    shell_complete=_offered,
    help="working, staged, A...B, A..B, a commit, a file that holds a diff, or `-`.",
)
@click.option(
    "--model",
    metavar="PROVIDER/NAME",
    default="",
    shell_complete=complete_with("models"),
    help="The model that reviews; else HOLDFAST_MODEL or `default_model`.",
)
@click.option("--no-model", is_flag=True, help="By rules alone, and nothing said about it.")
@click.option("--continue", "-c", "goes_on", is_flag=True, help="Ask the newest review of this folder TEXT.")
@click.option(
    "--log", metavar="ID", default="", shell_complete=complete_with("logs"), help="Ask this review."
)
@click.option("--max-steps", metavar="N", type=click.IntRange(min=1), help="At most N requests.")
@click.option(
    "--max-cost", metavar="DOLLARS", type=PositiveAmount("dollars"), help="At most so many dollars."
)
@profile_option
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
    /,
    request: str,
    spec: str,
    no_model: bool,
    goes_on: bool,
    log: str,
    fail_on: Severity | None,
    as_json: bool,
    markdown: bool,
    sarif: bool,
    quiet: bool,
    output: str,
    **asked: Any,
) -> None:
    """Review a change: its parts by risk, and what is wrong in it.

    The change is cut into units, each with its risk and how closely to look at it. Rules look for secrets, conflict
    markers, breakpoints, deleted or weakened tests, lock files left behind and more; nothing of it is run. A
    model, if one is chosen, reviews it with tools that only look; TEXT says what it should look for, or what you
    want to know of a review that is there.
    """
    if sum((as_json, markdown, sarif)) > 1:
        raise InputError("a report has one form: `--json`, `--markdown` or `--sarif`", hint="drop the others")
    form = to_json if as_json else to_sarif if sarif else to_markdown if markdown else None
    goes_on = goes_on or bool(log)
    if goes_on and no_model:
        raise InputError("a review is asked with a model", hint="drop `--no-model`")
    code = 0
    is_by_model = goes_on or (not no_model and _has_model(asked["model"]))
    if is_by_model:
        # Loaded late: what asks a model takes longer to load than all rules take to look.
        from holdfast.cli.review_model import ask_review, review_change  # noqa: PLC0415

        wish = make_review_options(ctx, log=log, **asked)
        if goes_on and form is None and fail_on is None and output == STDOUT:
            ctx.exit(ask_review(wish, request))
        change = None if goes_on else (spec, _piped() if spec == STDIN else None)
        with _telling() as tell:
            done, code = review_change(wish, change, request, tell)
        if done is None:
            ctx.exit(code)
        review, report = done.review, done.report
    else:
        review = read_review(spec)
        report = review.report()
        if not no_model:
            note(UNASKED)
    failed = fail_on is not None and reaches_severity(report.findings.kept, fail_on)
    if not quiet or failed:
        _show(report, form, output)
        _tell(review, spec, report, output)
    if failed or code:
        ctx.exit(code or FOUND)


def make_review_options(
    ctx: click.Context, *, log: str, model: str, profile: str, max_steps: int | None, max_cost: float | None
) -> Any:
    # Loaded late, with what asks a model.
    from holdfast.agents.limits import RunLimits  # noqa: PLC0415

    limits = RunLimits(max_steps or 0, max_cost or 0.0)
    return make_agent_options(ctx, model=model, profile=profile, log=log, limits=limits)


def read_review(spec: str) -> Review:
    """The change that a person named, cut into units and looked at by the rules."""
    with _telling() as tell:
        if spec != STDIN:
            return start_review(Path.cwd(), spec, tell=tell)
        tell("reading stdin")
        return start_review(Path.cwd(), "stdin", text=_piped(), tell=tell)


def _has_model(given: str) -> bool:
    """Whether a model is chosen."""
    if given:
        return True
    # Loaded late: a hook does without, and it takes longer than all rules together.
    from holdfast.config import load_config  # noqa: PLC0415
    from holdfast.models.selection import model_name  # noqa: PLC0415

    return bool(model_name("", load_config(cwd=Path.cwd(), env=os.environ), os.environ))


def _piped() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("nothing is piped in", hint="`git diff | holdfast review --diff -`")
    raw = sys.stdin.buffer.read(MOST_DIFF + 1)
    if len(raw) > MOST_DIFF:
        raise InputError(
            f"what is piped in is larger than {MOST_DIFF // 2**20} MiB", hint="review fewer files at once"
        )
    return decode_text(raw)


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


def _show(report: ReviewReport, form: Callable[[ReviewReport], str] | None, output: str) -> None:
    if output != STDOUT:
        _write_file(Path(output), (form or to_markdown)(report))
    elif form is None and sys.stdout.isatty():
        # Loaded late: only a terminal needs it, and what draws on one.
        from holdfast.cli.review_terminal import print_report  # noqa: PLC0415

        print_report(report)
    else:
        write((form or to_markdown)(report))


def _write_file(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise InputError(f"`{path}` cannot be written: {error.strerror}", hint="check the folder") from None


def _tell(review: Review, spec: str, report: ReviewReport, output: str) -> None:
    for sentence in review.notes:
        note(sentence)
    if not review.units:
        sentence, what_else = NOTHING.get(spec, ("there is nothing in this diff", ""))
        note(sentence)
        hint(what_else)
    elif output != STDOUT:
        say(f"{report.size}; findings: {report.found}; written to `{output}`")
