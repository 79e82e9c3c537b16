"""`holdfast review`: the parts of a change by risk, and what is wrong in it.

Rule: the report is the only thing on stdout: for a person on a terminal, as Markdown elsewhere, or in the format
that was asked for.
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
    common_options,
    continue_option,
    effort_option,
    json_option,
    log_option,
    make_agent_options,
    max_cost_option,
    max_steps_option,
    model_option,
    profile_option,
)
from holdfast.cli.review_silence import read_silence, write_baseline
from holdfast.cli.streams import hint, note, printable, say, write, write_file
from holdfast.errors import HoldfastError, InputError
from holdfast.review.diagnostics import to_gitlab, to_rdjson
from holdfast.review.finding import SEVERITIES, Severity
from holdfast.review.findings import reaches_severity
from holdfast.review.git_changes import MOST_DIFF
from holdfast.review.github import to_annotations, to_review
from holdfast.review.report import ReviewReport, to_json, to_markdown
from holdfast.review.repository import open_repository
from holdfast.review.review import Review, start_review
from holdfast.review.sarif import to_sarif
from holdfast.review.silence import hide, silence_notes
from holdfast.review.versions import decode_text

FOUND = 1
MOST_ABOUT = 256 * 1024
Writer = Callable[[ReviewReport], str]
FORMATS: dict[str, Writer] = {
    "markdown": to_markdown,
    "json": to_json,
    "sarif": to_sarif,
    "github": to_annotations,
    "gitlab": to_gitlab,
    "rdjson": to_rdjson,
}
STDIN = STDOUT = "-"

EXAMPLES = """\b
Examples:
  holdfast review
  holdfast review --diff staged --no-model --fail-on high
  holdfast review --diff main...HEAD --markdown > review.md
  holdfast review --model anthropic/claude-opus-5-5 "mind the locking"
  holdfast review --continue "why is f-0123456789ab high?"
  holdfast review --diff HEAD --sarif -o review.sarif
  holdfast review --diff main...HEAD --format github -o review.json
  git diff v1 v2 | holdfast review --diff - --json

\b
Exit code 1 if something is found that is at least as severe as --fail-on."""

UNASKED = (
    "only the rules reviewed, because no model is chosen; choose one with `--model`, `HOLDFAST_MODEL` or "
    "`default_model`, or add `--no-model`"
)
NOTHING = {
    "working": ("nothing has changed in the working tree", "review the last commit with `--diff HEAD`"),
    "staged": (
        "nothing is staged",
        "stage with `git add`, or review what is not staged with `--diff working`",
    ),
}


def _complete_diff(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Values of `--diff`; files where nothing else starts like this."""
    head, dots, _rest = incomplete.rpartition("..")
    words, revisions = [] if dots else ["working", "staged"], ["HEAD"]
    with suppress(HoldfastError):
        asked = ("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
        revisions += decode_text(open_repository(Path.cwd()).run(*asked)).split()
    names = [*words, *(head + dots + name for name in revisions)]
    items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


@click.command(epilog=EXAMPLES)
@click.argument("request", metavar="[TEXT]", default="")
@click.option(
    "--diff",
    "spec",
    metavar="WHAT",
    default="working",
    show_default=True,
    shell_complete=_complete_diff,
    help="Review working, staged, A...B, A..B, a commit, a file with a diff, or `-`.",
)
@click.option(
    "--linters",
    metavar="NAMES",
    default="",
    help="Also run these linters of the project in the sandbox: `all`, or names such as `ruff,eslint`.",
)
@click.option(
    "--about", metavar="FILE", help="Say what the change is for: a pull request's title and text, or `-`."
)
@model_option("Review with this model (default: HOLDFAST_MODEL or `default_model`).")
@effort_option()
@click.option("--no-model", is_flag=True, help="Review by rules only.")
@continue_option("Ask about the newest review of this folder.")
@log_option("Ask about this review.")
@max_steps_option
@max_cost_option("Stop before spending more.")
@profile_option
@click.option(
    "--fail-on", type=click.Choice(SEVERITIES), help="Exit with code 1 if a finding is at least as severe."
)
@click.option("--baseline", metavar="FILE", default="", help="Hide findings that FILE lists.")
@click.option("--update-baseline", is_flag=True, help="Add what is found to the baseline FILE.")
@click.option("--no-ignore", is_flag=True, help="Report also what comments and the configuration hide.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="Print in this format; github: annotations, and with -o a review of a pull request in FILE.",
)
@json_option
@click.option("--markdown", is_flag=True, help="Short for --format markdown.")
@click.option("--sarif", is_flag=True, help="Short for --format sarif (2.1.0), for code scanning.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing unless the exit code is 1.")
@click.option("-o", "--output", metavar="FILE", default=STDOUT, help="Write to FILE instead of stdout.")
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    request: str,
    spec: str,
    linters: str,
    about: str | None,
    no_model: bool,
    resumes_newest: bool,
    log: str,
    fail_on: Severity | None,
    baseline: str,
    update_baseline: bool,
    no_ignore: bool,
    form: str | None,
    as_json: bool,
    markdown: bool,
    sarif: bool,
    quiet: bool,
    output: str,
    **asked: Any,
) -> None:
    """Review a change: its parts by risk, and what is wrong in it.

    The change is cut into units, each with its risk and how closely to look at it. Rules look for secrets, conflict
    markers, breakpoints, deleted or weakened tests, outdated lock files and more; nothing is executed but linters
    that you name. If a model is chosen, it reviews the change with read-only tools. TEXT says what to look for, or
    asks about a review.
    """
    form = _chosen_format(form, json=as_json, markdown=markdown, sarif=sarif)
    resumes = resumes_newest or bool(log)
    if resumes and linters:
        raise InputError("linters are run when a review begins", hint="drop `--linters`")
    if resumes and no_model:
        raise InputError("only a model can answer a question about a review", hint="drop `--no-model`")
    if update_baseline and not baseline:
        raise InputError("`--update-baseline` needs a file", hint="name it with `--baseline FILE`")
    said = _read_about(about, spec, resumes=resumes)
    code = 0
    is_by_model = resumes or (not no_model and _has_model(asked["model"]))
    if is_by_model:
        only_answers = resumes and form is None and fail_on is None and output == STDOUT
        change = None if resumes else (spec, said)
        review, report, code = _review_by_model(
            ctx, request, change, only_answers, linters=linters, log=log, is_quiet=quiet, **asked
        )
    else:
        review = _review_by_rules(spec, said, linters)
        report = review.report()
    silence = read_silence(
        review, "" if update_baseline and not Path(baseline).exists() else baseline, no_ignore
    )
    if update_baseline:
        silence = write_baseline(Path(baseline), report, review, silence)
    report = hide(report, review, silence)
    failed = fail_on is not None and reaches_severity(report.findings.kept, fail_on)
    if not quiet or failed:
        if not (is_by_model or no_model):
            note(UNASKED)
        _show(report, form, output)
        _say_notes(review, spec, report, output, tuple(silence_notes(review, silence)))
    if failed or code:
        ctx.exit(code or FOUND)


def _chosen_format(named: str | None, **short: bool) -> str | None:
    names = [name for name in (named, *(name for name, is_given in short.items() if is_given)) if name]
    if len(set(names)) > 1:
        options = "`--format`, `--json`, `--markdown` and `--sarif` exclude each other"
        raise InputError(options, hint="choose one format")
    return names[0] if names else None


def _read_about(about: str | None, spec: str, *, resumes: bool) -> str:
    if about is None:
        return ""
    if resumes:
        raise InputError(
            "a review keeps what it was told when it began", hint="drop `--about`, or tell it in the question"
        )
    if about == STDIN == spec:
        raise InputError("`--about` and `--diff` cannot both read stdin", hint="name a file for one of them")
    if about == STDIN:
        return _decoded(
            _piped("git log -1 --format=%B | holdfast review --about -", MOST_ABOUT), "stdin", MOST_ABOUT
        )
    try:
        with Path(about).open("rb") as file:
            raw = file.read(MOST_ABOUT + 1)
    except OSError as error:
        raise InputError(
            f"`{about}` cannot be read: {error.strerror}",
            hint="`--about` names a text file, or `-` for stdin",
        ) from None
    return _decoded(raw, f"`{about}`", MOST_ABOUT)


def _decoded(raw: bytes, name: str, most: int) -> str:
    if len(raw) > most:
        raise InputError(f"{name} is larger than {most // 1024} KiB", hint="shorten it to what matters")
    if b"\0" in raw:
        raise InputError(f"{name} is not text", hint="`--about` names a text file, or `-` for stdin")
    return decode_text(raw)


def _review_by_model(
    ctx: click.Context,
    request: str,
    what: tuple[str, str] | None,
    only_answers: bool,
    *,
    linters: str,
    is_quiet: bool,
    **asked: Any,
) -> tuple[Review, ReviewReport, int]:
    """The review, its report and the exit code; without `what`, of the stored review. Exits if there is none."""
    # Imported late: this takes longer to load than all rules take to run.
    from holdfast.agents.limits import RunLimits  # noqa: PLC0415
    from holdfast.cli.review_model import ask_review, review_change  # noqa: PLC0415

    limits = RunLimits(asked.pop("max_steps") or 0, asked.pop("max_cost") or 0.0)
    options = make_agent_options(ctx, limits=limits, **asked)
    if only_answers:
        ctx.exit(ask_review(options, request))
    change = None
    if what is not None:
        spec, about = what
        change = (spec, _piped_diff() if spec == STDIN else None, about)
    with _progress() as tell:
        done, code = review_change(options, change, request, tell, is_quiet=is_quiet, linters=linters)
    if done is None:
        ctx.exit(code)
    return done.review, done.report, code


def _review_by_rules(spec: str, about: str, linters: str) -> Review:
    with _progress() as tell:
        if spec == STDIN:
            tell("reading stdin")
            review = start_review(Path.cwd(), "stdin", text=_piped_diff(), about=about, tell=tell)
        else:
            review = start_review(Path.cwd(), spec, about=about, tell=tell)
        if linters:
            # Imported late: a hook does not need it.
            import asyncio  # noqa: PLC0415

            from holdfast.agents.reviewer.linters import lint_review  # noqa: PLC0415

            asyncio.run(lint_review(review, linters, tell))
        return review


def _has_model(given: str) -> bool:
    if given:
        return True
    # Imported late: a hook does not need it, and it takes longer than all rules together.
    from holdfast.config import load_config  # noqa: PLC0415
    from holdfast.models.selection import model_name  # noqa: PLC0415

    return bool(model_name("", load_config(cwd=Path.cwd(), env=os.environ), os.environ))


def _piped_diff() -> str:
    raw = _piped("git diff | holdfast review --diff -", MOST_DIFF)
    if len(raw) > MOST_DIFF:
        raise InputError(
            f"what is piped in is larger than {MOST_DIFF // 2**20} MiB", hint="review fewer files at once"
        )
    return decode_text(raw)


def _piped(example: str, most: int) -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("nothing is piped in", hint=f"`{example}`")
    return sys.stdin.buffer.read(most + 1)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Progress in one line of a terminal, which is gone afterwards."""
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


def _show(report: ReviewReport, form: str | None, output: str) -> None:
    written = FORMATS[form or "markdown"]
    if output != STDOUT:
        # A run in Actions shows annotations that are printed, and posts the review from a file.
        to_file = to_review if form == "github" else written
        write_file(Path(output), to_file(report).encode("utf-8", "replace"))
        if form == "github":
            write(to_annotations(report))
    elif form is None and sys.stdout.isatty():
        # Imported late: only a terminal needs it.
        from holdfast.cli.review_terminal import print_report  # noqa: PLC0415

        print_report(report)
    else:
        write(written(report))


def _say_notes(review: Review, spec: str, report: ReviewReport, output: str, notes: tuple[str, ...]) -> None:
    for sentence in (*review.notes, *notes):
        note(sentence)
    if not review.units:
        sentence, what_else = NOTHING.get(spec, ("this diff is empty", ""))
        note(sentence)
        hint(what_else)
    elif output != STDOUT:
        hidden = f"; {report.hidden_size}" if report.hidden else ""
        say(f"{report.size}; findings: {report.found}{hidden}; written to `{output}`")
