"""`holdfast fit`: what makes a line worth keeping, learned from recordings.

Rule: the tables are the data, on stdout; a file is written only when it was asked for, and whole or not at all.
"""

from pathlib import Path

import click

from holdfast.cli.inputs import load_profile, parse_budgets
from holdfast.cli.many_recordings import open_workers, recording_sources
from holdfast.cli.options import FilesInput, common_options, complete_with, json_option, reads_files
from holdfast.cli.streams import check_writable, note, replace_file, say, show_activity, write_json
from holdfast.cli.tables import Column, print_table
from holdfast.errors import ConfigError
from holdfast.lab.fit.fit_report import MEAN, fit_tables
from holdfast.lab.fit.fit_results import Fit, require_libraries, run_trial, weights_file
from holdfast.lab.jobs import RecordingSources, ReplayOptions
from holdfast.lab.workers import Workers, interrupts_held
from holdfast.numbers import counted
from holdfast.packing.amounts import parse_tokens
from holdfast.prices import BUILT_IN as PRICES
from holdfast.prices import DEFAULT as DEFAULT_PRICES
from holdfast.recordings.json_lines import check_complete
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
@reads_files(BUDGETS, "Fold at each of these budgets.")
@click.option(
    "--profile",
    metavar="NAME",
    default="code",
    show_default=True,
    shell_complete=complete_with("profiles"),
    help="Learn from the folds of this profile.",
)
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the weights to FILE.")
@click.option("--replay", "replays", is_flag=True, help="Also replay with weights fitted on the others.")
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context, source: FilesInput, profile: str, out: Path | None, replays: bool, as_json: bool
) -> None:
    """Learn from recordings which lines are worth keeping.

    At every fold, which of the lines and names that it dropped did later actions use? Prints what each feature is
    worth, and how good that is on projects that were not fitted on. Needs scikit-learn: run
    `pip install '.[fit]'` in a checkout of Holdfast.
    """
    require_libraries()
    chosen = load_profile(profile)
    if not chosen.excerpt_ratio:
        raise ConfigError(
            f"the profile `{chosen.name}` keeps no lines of what it folds, so there is nothing to learn",
            hint="choose another with `--profile`, or set its `excerpt_ratio` above 0",
        )
    options = ReplayOptions(
        (chosen.name,),
        parse_budgets(source.budget, BUDGETS),
        (PRICES[DEFAULT_PRICES],),
        profiles={chosen.name: chosen},
        project_from=source.project_from,
        at_least=parse_tokens(source.at_least),
    )
    check_writable(out)
    recordings = recording_sources(ctx, source)
    with open_workers(source) as workers:
        fit = _fit(options, recordings, workers, replays)
    if out is not None:
        replace_file(out, [weights_file(fit.weights)])
    _show(fit, as_json)
    note(f"the weights are in `{out}`" if out else "the weights are not kept; `--out FILE` writes them")
    check_complete(recordings.read.values())


def _fit(options: ReplayOptions, sources: RecordingSources, workers: Workers, replays: bool) -> Fit:
    # Imported late, here and below: these libraries take seconds to load. Their threads must never see Ctrl-C: one
    # that does would interrupt the main one even where that holds it back, as it starts a process.
    with interrupts_held():
        from holdfast.lab.fit.examples import gather_examples  # noqa: PLC0415
    count, size = sources.load()
    recordings = counted(count, "recording")
    with show_activity(f"reading {recordings}", total=size, timed=True) as done:
        gathered = gather_examples(options, sources, workers=workers, done=done)
    with show_activity("fitting"):
        with interrupts_held():
            from holdfast.lab.fit.regression import learn_weights  # noqa: PLC0415
        learned = learn_weights(gathered.examples, options)
    trial, notes = None, gathered.notes
    if replays and learned.held_out != "nothing":
        with show_activity(f"replaying {recordings}", total=size, timed=True) as done:
            trial, more = run_trial(options, sources, learned, workers=workers, done=done)
        notes = [*notes, *more]
    projects = [one.project for one in gathered.examples]
    return Fit(
        version=__version__,
        profile=options.policies[0],
        budgets=list(options.budgets),
        files=[path.name for path in sources.files],
        at_least=options.at_least,
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


def _show(fit: Fit, as_json: bool) -> None:
    for sentence in fit.notes:
        note(sentence)
    if as_json:
        write_json(fit)
    else:
        for table in fit_tables(fit):
            columns = [Column(title, kind) for title, kind in table.columns]
            print_table(columns, table.rows, title=table.title, totals=table.rows[-1][0] == MEAN)
    if fit.held_out == "recording":
        note("all recordings are of one project: quality is of recordings held out, not of other projects")
    elif fit.held_out == "nothing":
        note("only one recording folds, so nothing can be held out to judge the weights by")
    say(
        f"{counted(fit.folds, 'fold')} in {counted(sum(fit.projects.values()), 'recording')} "
        f"of {counted(len(fit.projects), 'project')}"
    )
