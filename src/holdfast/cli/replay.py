"""`holdfast replay`: what evidence each policy keeps in front of the agent, and what its requests cost.

Rule: the tables are the data, on stdout; where packs are dumped there, the tables go to stderr.
"""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory

import click
from msgspec.structs import replace

from holdfast.cli.exits import INTERRUPTED
from holdfast.cli.inputs import load_profile, parse_budgets
from holdfast.cli.many_recordings import open_workers, recording_sources
from holdfast.cli.options import (
    PROCESSES,
    FilesInput,
    common_options,
    complete_with,
    json_option,
    reads_files,
)
from holdfast.cli.streams import (
    check_writable,
    note,
    open_output,
    say,
    show_activity,
    warn,
    write,
    write_file,
    write_json,
)
from holdfast.cli.tables import Column, print_table, say_table, say_wrapped
from holdfast.config import load_config
from holdfast.errors import InputError
from holdfast.lab.jobs import RecordingSources, ReplayOptions
from holdfast.lab.policies.oracle import underlying_profile
from holdfast.lab.policies.registry import DEFAULT_NAMES
from holdfast.lab.replay import ReportOptions, replay
from holdfast.lab.report import terminal_tables, write_html, write_markdown
from holdfast.lab.report.rankings import result_sentence
from holdfast.lab.results import ReplayReport
from holdfast.lab.workers import Workers
from holdfast.numbers import counted
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.profile import BUILT_IN
from holdfast.prices import BUILT_IN as BUILT_IN_PRICES
from holdfast.prices import load_prices
from holdfast.recordings.json_lines import check_complete

BUDGETS = "16k,32k,64k"
STDOUT = "-"

EXAMPLES = """\b
Examples:
  holdfast replay recordings/*.jsonl.gz
  holdfast replay l0123456789ab --policy newest,code
  holdfast replay recording.jsonl --policy newest,code --html report.html
  holdfast replay recording.jsonl --policy my_policies:KeepFirst,code
  holdfast replay recording.jsonl --policy code --dump - | my-scorer

\b
`hard` is the share of older evidence that was still in the pack when an
action used it; dollars are relative to sending everything, cached."""


@click.command(epilog=EXAMPLES)
@reads_files(BUDGETS, "Pack into each of these budgets.")
@click.option(
    "--policy",
    metavar="NAME,...",
    default=",".join(DEFAULT_NAMES),
    shell_complete=complete_with("policies"),
    help="Compare these policies and profiles, or `module:attribute`.  "
    "[default: the simple ones and our main profiles]",
)
@click.option(
    "--prices",
    metavar="NAME|FILE",
    default="standard",
    show_default=True,
    shell_complete=complete_with("price_tables"),
    help="Rank by this price table, built in or a TOML file.",
)
@click.option("--against", metavar="NAME", default="", help="Compare the others with this policy.")
@click.option(
    "--check", "checks", is_flag=True, help="Also check policies: other hash seeds, scrambled endings."
)
@click.option("--sensitivity", is_flag=True, help="Also vary the measure and see whether the ranking holds.")
@click.option("--why", is_flag=True, help="Also say where the evidence was lost that was missed.")
@click.option("--html", metavar="OUT", type=click.Path(path_type=Path), help="Write an HTML report.")
@click.option(
    "--picture", metavar="ID", default="", help="Draw this recording in the report (default: the longest)."
)
@click.option("--markdown", is_flag=True, help="Print Markdown tables on stdout.")
@click.option("--dump", metavar="OUT", default="", help="Write every pack as a JSON line; `-` is stdout.")
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    source: FilesInput,
    policy: str,
    prices: str,
    against: str,
    checks: bool,
    sensitivity: bool,
    why: bool,
    html: Path | None,
    picture: str,
    markdown: bool,
    dump: str,
    as_json: bool,
) -> None:
    """Measure what context policies keep, and what they cost.

    Replays recordings under each policy and budget. For every recorded action: was the earlier text that it used
    still in front of the agent? And what would the requests have cost? No model and no key needed.
    """
    if sum((as_json, markdown, dump == STDOUT)) > 1:
        raise InputError(
            "stdout takes only one of `--json`, `--markdown` and `--dump -`", hint="drop the others"
        )
    options = _options(source, policy, prices, sensitivity=sensitivity, pictures=html is not None, why=why)
    _check_against(against, options)
    check_writable(html)
    if dump and source.engine != PROCESSES:
        raise InputError("`--dump` is for processes of this machine", hint="leave out `--engine`")
    recordings = recording_sources(ctx, source)
    with open_workers(source) as workers:
        report = _replay(options, recordings, ReportOptions(against, picture, checks), workers, dump)
    if html is not None:
        write_file(html, write_html(report).encode("utf-8", "replace"))
        note(f"the report is in `{html}`")
    _show(report, as_json, markdown, dump == STDOUT)
    if report.partial:
        # What there was has been shown; the exit code says that it was not all.
        raise click.exceptions.Exit(INTERRUPTED)
    if not report.projects:
        raise InputError("no recording could be replayed", hint="the notes above say why")
    check_complete(recordings.read.values())


def _options(
    source: FilesInput, policy: str, prices: str, *, sensitivity: bool, pictures: bool, why: bool
) -> ReplayOptions:
    names = tuple(dict.fromkeys(name.strip() for name in policy.split(",") if name.strip()))
    if not names:
        raise InputError(
            "`--policy` names no policy", hint=f"write it like `--policy {','.join(DEFAULT_NAMES[:3])}`"
        )
    profiles = {*BUILT_IN, *load_config(cwd=Path.cwd(), env=os.environ).profiles}
    chosen = load_prices(prices)
    options = ReplayOptions(
        names,
        parse_budgets(source.budget, BUDGETS),
        (chosen, *(table for name, table in BUILT_IN_PRICES.items() if name != chosen.name)),
        profiles={name: load_profile(name) for name in map(underlying_profile, names) if name in profiles},
        folder=str(Path.cwd()),
        project_from=source.project_from,
        at_least=parse_tokens(source.at_least),
        pictures=pictures,
        why=why,
    )
    return options.varied() if sensitivity else options


def _check_against(against: str, options: ReplayOptions) -> None:
    """Refuse, before any work, a policy that is not found, or one to compare with that is not among them."""
    policies = [named.name for named in options.all_policies()]
    if against and against not in policies:
        hint = f"they are {', '.join(policies)}"
        raise InputError(f"`--against {against}` is not one of the policies", hint=hint)


def _replay(
    options: ReplayOptions, sources: RecordingSources, wanted: ReportOptions, workers: Workers, dump: str
) -> ReplayReport:
    recordings, size = sources.load()
    what = f"replaying {counted(recordings, 'recording')}"
    with ExitStack() as stack:
        if dump:
            # Removed last: a worker that was stopped leaves the packs that it was writing.
            folder = TemporaryDirectory(prefix="holdfast-dump-", ignore_cleanup_errors=True)
            options = replace(options, dump=stack.enter_context(folder))
        take = _dump_taker(dump, stack)
        done = stack.enter_context(show_activity(what, total=size, timed=True))
        return replay(options, sources, recordings, wanted, workers=workers, done=done, dump=take)


def _dump_taker(dump: str, stack: ExitStack) -> Callable[[str], None]:
    """A function that copies the packs of one recording to the output, and removes their file."""
    to_file = dump and dump != STDOUT
    sink = stack.enter_context(open_output(Path(dump))) if to_file else sys.stdout.buffer

    def take(name: str) -> None:
        try:
            with Path(name).open("rb") as packs:
                copyfileobj(packs, sink)
            sink.flush()
        finally:
            Path(name).unlink(missing_ok=True)

    return take


def _show(report: ReplayReport, as_json: bool, markdown: bool, aside: bool) -> None:
    if report.partial:
        warn(f"partial result: {report.partial}")
    for sentence in report.notes:
        note(sentence)
    if as_json:
        write_json(report)
    elif markdown:
        write(write_markdown(report))
    else:
        for table in terminal_tables(report):
            columns = [Column(title, kind) for title, kind in table.columns]
            if aside:
                say(f"\n{table.title}")
                say_table(columns, table.rows)
            else:
                print_table(columns, table.rows, title=table.title)
    if aside or not (as_json or markdown):
        say(
            f"{counted(report.recordings, 'recording')} of {counted(len(report.projects), 'project')} "
            f"in {report.seconds:.0f} s; prices `{report.prices}`, relative to `everything`"
        )
        if result := result_sentence(report):
            say_wrapped(result)
