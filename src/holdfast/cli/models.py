"""`holdfast models`: which models there are, what they cost, and what they still need.

Rule: without `--check` no provider is asked; a key is never shown, only whether it is set.
"""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import asdict, replace

from holdfast.cli.options import common_options, complete_with, json_option
from holdfast.cli.streams import hint, note, write_json
from holdfast.cli.tables import Cell, Column, name, number, print_table
from holdfast.config import load_config
from holdfast.errors import InputError, suggest
from holdfast.messages import Json
from holdfast.models.catalogue import Catalogue, load_catalogue
from holdfast.models.selection import (
    MODEL_VARIABLE,
    ResolvedModel,
    model_name,
    models_with_address,
    resolve_model,
)

EXAMPLES = """\b
Examples:
  holdfast models
  holdfast models anthropic
  holdfast models --check
  holdfast models ollama --check
  holdfast models compatible/qwen3@http://127.0.0.1:8080/v1 --check --json"""

ANY = "…"
"""In place of a name, for a provider whose models are not in the catalogue."""


class ModelRow(Struct, frozen=True):
    """A model, and what its provider said of it: None if it was not asked."""

    chosen: ResolvedModel
    is_key_set: bool
    is_reached: bool | None = None
    is_listed: bool | None = None
    problem: str = ""

    @property
    def is_usable(self) -> bool:
        return not self.missing and self.is_reached is not False and self.is_listed is not False

    @property
    def missing(self) -> str:
        """What must be done before it can be used; empty if nothing is known to be missing."""
        if self.chosen.is_key_needed and not self.is_key_set:
            return f"set {self.chosen.key}"
        if self.is_listed is False:
            return "the provider does not list it"
        return self.problem


@click.command(epilog=EXAMPLES)
@click.argument("which", metavar="[NAME]", required=False, default="", shell_complete=complete_with("models"))
@click.option("--check", is_flag=True, help="Ask each provider which models it has.")
@json_option
@common_options
@click.pass_context
def command(ctx: click.Context, which: str, check: bool, as_json: bool) -> None:
    """List models with their prices and what they still need.

    NAME is a provider, or a model as `--model` takes it: `provider/name`, or `provider/name@URL`. Entries under
    `[models]` in `holdfast.toml` change the list or add to it.
    """
    config = load_config(cwd=Path.cwd(), env=os.environ)
    catalogue = load_catalogue(config)
    wanted = _wanted(which, catalogue, check=check)
    rows = [ModelRow(one, bool(os.environ.get(one.key, "").strip())) for one in wanted]
    if check:
        rows = _checked(rows)
    picked = model_name("", config, os.environ)
    if as_json:
        write_json({"date": catalogue.date, "chosen": picked, "models": [_row_data(row) for row in rows]})
    else:
        print_table(*_table(rows, check))
        _say(rows, catalogue, picked)
    if which and check and not any(row.is_usable for row in rows):
        ctx.exit(1)


def _wanted(which: str, catalogue: Catalogue, *, check: bool) -> list[ResolvedModel]:
    """The models to list; for a provider without known ones, one row for all it has. A model that nothing is known
    of is an error, unless its provider is asked."""
    if which and which not in catalogue.providers:
        if "/" not in which:
            raise _unknown_name(which, catalogue)
        chosen = resolve_model(which, catalogue, os.environ)
        provider = chosen.entry.provider
        known = [entry.name for entry in catalogue.models.values() if entry.provider == provider]
        if known and not (check or "@" in which or which in known):
            hint = suggest(which, known, lists=True, more="`--check` asks the provider")
            raise InputError(f"the catalogue has no model `{which}`", hint=hint)
        return [chosen]
    found = []
    for provider in [which] if which else catalogue.providers:
        names = [entry.name for entry in catalogue.models.values() if entry.provider == provider]
        if not names and not (catalogue.providers[provider].url or which):
            continue
        found += models_with_address(names or [f"{provider}/{ANY}"], catalogue, os.environ)
    # One that is asked for by its name is an error instead of an empty list.
    return found or [resolve_model(f"{which}/{ANY}", catalogue, os.environ)]


def _unknown_name(which: str, catalogue: Catalogue) -> InputError:
    """A name without a provider is most likely a provider or a model that was mistyped."""
    names = {entry.model: entry.name for entry in catalogue.models.values()}
    names |= {provider: provider for provider in catalogue.providers}
    near = get_close_matches(which, names, n=1)
    meant = f"did you mean `{names[near[0]]}`? " if near else ""
    return InputError(f"there is no provider `{which}`", hint=f"{meant}`holdfast models` lists all")


def _checked(rows: Sequence[ModelRow]) -> list[ModelRow]:
    """The rows with what their providers say; those without a key are not asked."""
    # Imported late: the network code takes longer to load than the rest of this command.
    from holdfast.models.availability import check_availability  # noqa: PLC0415

    reached = check_availability([row.chosen for row in rows if not row.missing], os.environ)
    checked = []
    for row in rows:
        found = reached.get((row.chosen.url, row.chosen.key))
        if found is None:
            checked.append(row)
        elif row.chosen.entry.model == ANY and found.served:
            for model, window in sorted(found.served.items()):
                full = f"{row.chosen.entry.provider}/{model}"
                entry = replace(row.chosen.entry, name=full, window=window)
                served = replace(row.chosen, name=full, entry=entry)
                checked.append(ModelRow(served, row.is_key_set, True, True))
        else:
            listed = row.chosen.entry.model in found.served if found.served else None
            checked.append(
                replace(row, is_reached=found.is_available, is_listed=listed, problem=found.problem)
            )
    return checked


def _row_data(row: ModelRow) -> dict[str, Json]:
    entry = asdict(row.chosen.entry)
    del entry["name"], entry["date"], entry["takes_key"]
    return {
        "model": row.chosen.name,
        **entry,
        "url": row.chosen.url,
        "key": row.chosen.key,
        "key_needed": row.chosen.is_key_needed,
        "key_set": row.is_key_set,
        "reachable": row.is_reached,
        "listed": row.is_listed,
        "missing": row.missing,
    }


def _table(rows: Sequence[ModelRow], check: bool) -> tuple[list[Column], list[Sequence[Cell]]]:
    columns = [name("model"), *map(number, ("window", "$ in", "$ read", "$ out")), name("key")]
    cells: list[Sequence[Cell]] = []
    for row in rows:
        entry, price = row.chosen.entry, row.chosen.entry.price
        known = (price.input, price.cache_read, price.output) if price else (None, None, None)
        prices = ["" if one is None else f"{one:g}" for one in known]
        key = "yes" if row.is_key_set else "no" if row.chosen.is_key_needed else "–"
        reached = "–" if row.is_reached is None else "yes" if row.is_reached else "no"
        if row.is_reached is not None and row.is_listed is False:
            reached = "not listed"
        line = [row.chosen.name, entry.window or "?", *prices, key]
        cells.append([*line, reached] if check else line)
    return [*columns, name("reached")] if check else columns, cells


def _say(rows: Sequence[ModelRow], catalogue: Catalogue, picked: str) -> None:
    note(f"prices in dollars per million tokens, as published on {catalogue.date}; `--json` has more")
    if unset := dict.fromkeys(row.chosen.key for row in rows if row.missing and row.is_reached is None):
        hint(f"set the key of the provider you use: {', '.join(unset)}")
    for problem in dict.fromkeys(
        f"{row.chosen.entry.provider}: {row.problem}" for row in rows if row.problem
    ):
        hint(problem)
    if picked:
        note(f"the chosen model is `{picked}`")
    else:
        hint(f"choose one with `--model NAME`, `{MODEL_VARIABLE}` or `default_model` in holdfast.toml")
