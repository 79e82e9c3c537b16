"""`holdfast replay`: what evidence each policy keeps in front of the agent, and what its requests cost.

Rule: the tables are the data, on stdout; packs that are dumped there instead push the tables to stderr.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import BinaryIO

import click
from msgspec.structs import replace

from holdfast.cli.exits import INTERRUPTED
from holdfast.cli.options import (
    budgets_option,
    common_options,
    complete_with,
    files_options,
    json_option,
)
from holdfast.cli.streams import format_count, note, say, show_progress, warn, write, write_json
from holdfast.cli.tables import Column, print_heading, print_table, say_table
from holdfast.config import load_config, resolve_profile
from holdfast.errors import InputError
from holdfast.lab.jobs import RecordingSources
from holdfast.lab.options import ReplayOptions
from holdfast.lab.policies.registry import DEFAULT_NAMES
from holdfast.lab.pool import available_processors
from holdfast.lab.replay import ReportOptions, replay
from holdfast.lab.report import ReportTable, terminal_tables, write_html, write_markdown
from holdfast.lab.report.standings import result_sentence
from holdfast.lab.results import ReplayReport
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.profile import BUILT_IN, SMALLEST_BUDGET, Profile
from holdfast.prices import BUILT_IN as BUILT_IN_PRICES
from holdfast.prices import PriceTable, load_prices

BUDGETS = "16k,32k,64k"
STDOUT = "-"

EXAMPLES = """\b
Examples:
  holdfast replay recordings/*.jsonl.gz
  holdfast replay recording.jsonl --policy newest,code --html report.html
  holdfast replay recording.jsonl --policy my_policies:KeepFirst,code
  holdfast replay recording.jsonl --policy code --dump - | my-scorer

\b
`hard` is the share of older evidence that still stood in the pack when an
action used it; dollars are relative to sending everything, cached."""


@click.command(epilog=EXAMPLES)
@budgets_option(BUDGETS, "Budgets of the packs.")
@click.option(
    "--policy",
    metavar="NAME,...",
    default=",".join(DEFAULT_NAMES),
    shell_complete=complete_with("policies"),
    help="Policies and profiles, or `module:attribute`.  [default: the simple ones and our main profiles]",
)
@click.option(
    "--prices",
    metavar="NAME|FILE",
    default="standard",
    show_default=True,
    shell_complete=complete_with("price_tables"),
    help="The price table to rank by, built in or TOML.",
)
@files_options
@click.option("--against", metavar="NAME", default="", help="The policy that the others are compared with.")
@click.option(
    "--check", "checks", is_flag=True, help="Also replay some again: other hash seeds, scrambled ends."
)
@click.option("--sensitivity", is_flag=True, help="Also vary the measure; does the order of policies hold?")
@click.option("--html", metavar="OUT", type=click.Path(path_type=Path), help="Write a report to look at.")
@click.option("--picture", metavar="ID", default="", help="The recording to draw in it; else the longest.")
@click.option("--markdown", is_flag=True, help="Markdown tables on stdout.")
@click.option("--dump", metavar="OUT", default="", help="Write every pack as a JSON line; `-` is stdout.")
@json_option
@common_options
def command(
    files: tuple[Path, ...],
    budget: str,
    policy: str,
    prices: str,
    project_from: str,
    jobs: int | None,
    format_: str | None,
    sample: int,
    at_least: str,
    against: str,
    checks: bool,
    sensitivity: bool,
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
            "stdout is for one of them: `--json`, `--markdown` or `--dump -`", hint="drop the others"
        )
    order = replace(
        _order(policy, budget, prices),
        project_from=project_from,
        at_least=parse_tokens(at_least),
        pictures=html is not None,
    )
    order = order.varied() if sensitivity else order
    _check_against(order, against)
    _check_place(html)
    sources = RecordingSources(files, format_, sample)
    report = _replay(
        order, sources, ReportOptions(against, picture, checks), jobs or available_processors(), dump
    )
    if html is not None:
        _write_file(html, write_html(report))
    _show(report, as_json, markdown, dump == STDOUT)
    if report.partial:
        # Whatever there was has been shown; the code says that it was not all.
        raise click.exceptions.Exit(INTERRUPTED)


def _order(policy: str, budget: str, prices: str) -> ReplayOptions:
    names = _names(policy)
    return ReplayOptions(
        names, _budgets(budget), _tables(prices), profiles=_profiles(names), folder=str(Path.cwd())
    )


def _replay(
    order: ReplayOptions, sources: RecordingSources, wish: ReportOptions, processes: int, dump: str
) -> ReplayReport:
    load = sources.load()
    what = f"replaying {format_count(load.recordings, 'recording')}"
    with ExitStack() as stack:
        if dump:
            # Emptied last: a worker that was ended leaves the packs it was writing behind.
            folder = TemporaryDirectory(prefix="holdfast-dump-", ignore_cleanup_errors=True)
            order = replace(order, dump=stack.enter_context(folder))
        take = _dumped_to(dump, stack)
        done = stack.enter_context(show_progress(what, total=load.size))
        return replay(order, sources, load, wish, processes=processes, done=done, dump=take)


def _dumped_to(dump: str, stack: ExitStack) -> Callable[[str], None]:
    """What takes over the packs of one recording: they are copied in order and the file goes."""
    to_file = dump and dump != STDOUT
    sink = stack.enter_context(_opened(Path(dump))) if to_file else sys.stdout.buffer

    def take(name: str) -> None:
        try:
            with Path(name).open("rb") as packs:
                copyfileobj(packs, sink)
            sink.flush()
        finally:
            Path(name).unlink(missing_ok=True)

    return take


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise InputError(
            f"`{path}` cannot be written: {error.strerror}", hint="choose another place"
        ) from None


def _check_place(path: Path | None) -> None:
    """Before any work: a report that cannot be written is no end for a long run."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        why = "it is a folder" if path.is_dir() else "its folder is not there"
        raise InputError(f"`{path}` cannot be written: {why}", hint="choose another place")


def _write_file(path: Path, text: str) -> None:
    with _opened(path) as file:
        file.write(text.encode("utf-8", "replace"))
    note(f"the report is in `{path}`")


def _names(listed: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in listed.split(",") if name.strip())
    if not names:
        raise InputError(
            "`--policy` names no policy", hint=f"such as `--policy {','.join(DEFAULT_NAMES[:3])}`"
        )
    return tuple(dict.fromkeys(names))


def _budgets(listed: str) -> tuple[int, ...]:
    budgets = tuple(sorted({parse_tokens(part.strip()) for part in listed.split(",") if part.strip()}))
    if not budgets:
        raise InputError("`--budget` names no budget", hint=f"such as `--budget {BUDGETS}`")
    if budgets[0] < SMALLEST_BUDGET:
        raise InputError(
            f"a budget of {budgets[0]} tokens is too small", hint=f"the smallest is {SMALLEST_BUDGET} tokens"
        )
    return budgets


def _tables(prices: str) -> tuple[PriceTable, ...]:
    """The table that ranks, then the built-in ones."""
    chosen = load_prices(prices)
    return (chosen, *(table for name, table in BUILT_IN_PRICES.items() if name != chosen.name))


def _profiles(names: Sequence[str]) -> dict[str, Profile]:
    """Profiles among the names, as the configuration and the environment set them."""
    env = os.environ
    config = load_config(cwd=Path.cwd(), env=env)
    found: dict[str, Profile] = {}
    for name in names:
        if name in config.profiles or name in BUILT_IN:
            loaded = resolve_profile(config, env, name)
            for warning in loaded.warnings:
                warn(warning)
            found[name] = loaded.profile
    return found


def _check_against(order: ReplayOptions, against: str) -> None:
    """Before any work: every policy is found, and the one to compare with is among them."""
    names = [plan.name for plan in order.all_policies()]
    if against and against not in names:
        raise InputError(
            f"`--against {against}` is none of the policies", hint=f"they are {', '.join(names)}"
        )


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
            _show_table(table, aside)
    if aside or not (as_json or markdown):
        say(
            f"{format_count(report.recordings, 'recording')} of {format_count(len(report.projects), 'project')} "
            f"in {report.seconds:.0f} s; prices `{report.prices}`, relative to `everything`"
        )
        if result := result_sentence(report):
            say(result)


def _show_table(table: ReportTable, aside: bool) -> None:
    columns = [Column(title, kind) for title, kind in table.columns]
    if aside:
        say(f"\n{table.title}")
        say_table(columns, table.rows)
    else:
        print_heading(table.title)
        print_table(columns, table.rows)
