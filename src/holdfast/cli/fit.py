"""`holdfast fit`: what makes a line worth keeping, learned from recordings.

Rule: the tables are the data, on stdout; a file is written only when it was asked for, and whole or not at all.
"""

import os
from pathlib import Path

import click
from msgspec.structs import replace

from holdfast.cli.options import (
    budgets_option,
    common_options,
    complete_with,
    files_options,
    json_option,
)
from holdfast.cli.streams import format_count, note, say, show_activity, show_progress, warn, write_json
from holdfast.cli.tables import Column, print_heading, print_table
from holdfast.config import load_config, resolve_profile
from holdfast.errors import ConfigError, InputError
from holdfast.lab.fit.fit_report import MEAN, fit_tables
from holdfast.lab.fit.fit_results import Fit, weights_file
from holdfast.lab.fit.libraries import loading, require_libraries
from holdfast.lab.jobs import RecordingSources
from holdfast.lab.options import ReplayOptions
from holdfast.lab.pool import available_processors
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.profile import Profile
from holdfast.prices import BUILT_IN as PRICES
from holdfast.prices import DEFAULT as DEFAULT_PRICES
from holdfast.version import __version__

BUDGETS = "16k,32k"

EXAMPLES = """\b
Examples:
  holdfast fit recordings/*.jsonl.gz
  holdfast fit recordings/*.jsonl.gz --out weights.json
  holdfast fit recordings/*.jsonl.gz --sample 10 --replay

\b
`curve` is how often something that was used later ranks above something
that was not; `tenth` is the share of later use in the best tenth of tokens."""


@click.command(epilog=EXAMPLES)
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the weights; else none are."
)
@budgets_option(BUDGETS, "Budgets to fold at.")
@click.option(
    "--profile",
    metavar="NAME",
    default="code",
    show_default=True,
    shell_complete=complete_with("profiles"),
    help="The profile whose folds are learned from.",
)
@files_options
@click.option("--replay", "replays", is_flag=True, help="Also replay with weights fitted on the others.")
@json_option
@common_options
def command(
    files: tuple[Path, ...],
    out: Path | None,
    budget: str,
    profile: str,
    project_from: str,
    jobs: int | None,
    format_: str | None,
    sample: int,
    at_least: str,
    replays: bool,
    as_json: bool,
) -> None:
    """Learn from recordings which lines are worth keeping.

    At every fold, which of the lines and names that it let go did later actions use? Prints what each feature is
    worth, and how good that is on projects that were not fitted on. Needs scikit-learn: `pip install
    'holdfast[fit]'`.
    """
    require_libraries()
    order = _order(_profile(profile), budget)
    order = replace(order, project_from=project_from, at_least=parse_tokens(at_least))
    _check_place(out)
    fit = _fit(order, RecordingSources(files, format_, sample), jobs or available_processors(), replays)
    if out is not None:
        _write_file(out, weights_file(fit.weights))
    _show(fit, as_json)
    if out is None:
        note("the weights are not kept; `--out FILE` writes them")
    else:
        note(f"the weights are in `{out}`")


def _fit(order: ReplayOptions, sources: RecordingSources, processes: int, replays: bool) -> Fit:
    # Loaded late, here and below: seconds of libraries, which help and completion do without.
    with loading():
        from holdfast.lab.fit.examples import gather_examples  # noqa: PLC0415
    load = sources.load()
    recordings = format_count(load.recordings, "recording")
    with show_progress(f"reading {recordings}", total=load.size) as done:
        gathered = gather_examples(order, sources, processes=processes, done=done)
    with show_activity("fitting"):
        with loading():
            from holdfast.lab.fit.regression import learn_weights  # noqa: PLC0415
        learned = learn_weights(gathered.examples, order)
    trial, notes = None, gathered.notes
    if replays and learned.held_out != "nothing":
        from holdfast.lab.fit.trial import run_trial  # noqa: PLC0415

        with show_progress(f"replaying {recordings}", total=load.size) as done:
            trial, more = run_trial(order, sources, learned, processes=processes, done=done)
        notes = [*notes, *more]
    projects = [one.project for one in gathered.examples]
    return Fit(
        version=__version__,
        profile=order.policies[0],
        budgets=list(order.budgets),
        files=[path.name for path in sources.files],
        at_least=order.at_least,
        recordings=gathered.recordings,
        projects={name: projects.count(name) for name in sorted(set(projects))},
        folds=sum(one.folds for one in gathered.examples),
        held_out=learned.held_out,
        weights=learned.weights,
        lines=learned.lines,
        names=learned.names,
        trial=trial,
        notes=notes,
    )


def _order(profile: Profile, listed: str) -> ReplayOptions:
    budgets = tuple(sorted({parse_tokens(part.strip()) for part in listed.split(",") if part.strip()}))
    if not budgets:
        raise InputError("`--budget` names no budget", hint=f"such as `--budget {BUDGETS}`")
    for budget in budgets:
        profile.scaled_to(budget)  # refuses one that is too small
    return ReplayOptions(
        (profile.name,), budgets, (PRICES[DEFAULT_PRICES],), profiles={profile.name: profile}
    )


def _profile(name: str) -> Profile:
    """The profile as configuration and environment have it; one that keeps no lines has nothing to learn."""
    loaded = resolve_profile(load_config(cwd=Path.cwd(), env=os.environ), os.environ, name)
    for warning in loaded.warnings:
        warn(warning)
    if not loaded.profile.excerpt_ratio:
        raise ConfigError(
            f"the profile `{loaded.profile.name}` keeps no lines of what it folds, so none are ranked",
            hint="choose another with `--profile`, or set its `excerpt_ratio` above 0",
        )
    return loaded.profile


def _check_place(path: Path | None) -> None:
    """Before any work: weights that cannot be written are no end for a long run."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        why = "it is a folder" if path.is_dir() else "its folder is not there"
        raise InputError(f"`{path}` cannot be written: {why}", hint="choose another place")


def _write_file(path: Path, data: bytes) -> None:
    """The whole file or none of it, with the permissions that any new file has."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            draft.write_bytes(data)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(
            f"`{path}` cannot be written: {error.strerror}", hint="choose another place"
        ) from None


def _show(fit: Fit, as_json: bool) -> None:
    for sentence in fit.notes:
        note(sentence)
    if as_json:
        write_json(fit)
    else:
        for table in fit_tables(fit):
            print_heading(table.title)
            columns = [Column(title, kind) for title, kind in table.columns]
            print_table(columns, table.rows, totals=table.rows[-1][0] == MEAN)
    if fit.held_out == "recording":
        note("all recordings are of one project: quality is of recordings held out, not of other projects")
    elif fit.held_out == "nothing":
        note("only one recording folds, so nothing can be held out to judge the weights by")
    say(
        f"{format_count(fit.folds, 'fold')} in {format_count(sum(fit.projects.values()), 'recording')} "
        f"of {format_count(len(fit.projects), 'project')}"
    )
