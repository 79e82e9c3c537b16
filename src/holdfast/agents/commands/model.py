"""`/model`: which models are available, and to switch to another.

Rule: looking costs nothing, and a key is never shown.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand, require_idle
from holdfast.agents.commands.markdown import code, joined, table
from holdfast.agents.outcomes import CommandAnswer, Menu, MenuItem
from holdfast.agents.saved_defaults import save_default, split_save
from holdfast.config import load_config
from holdfast.errors import ConfigError, InputError, suggest
from holdfast.models.availability import Availability, check_availability
from holdfast.models.catalogue import Catalogue, load_catalogue
from holdfast.models.selection import ResolvedModel, models_with_address, resolve_model
from holdfast.numbers import grouped

SECONDS = 3.0
ANY = "…"
"""In place of the models of a provider that lists them itself."""

MOST_SERVED = 20
"""How many models of a local server are listed."""


ModelOffer = tuple[ResolvedModel, str]
"""A model to choose, and why it cannot be used, if its provider tells."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    catalogue = project_catalogue(coding)
    wanted, is_saved = split_save(argument)
    root = Path(coding.workspace.roots[0])
    if is_saved and wanted in ("", coding.agent.model.name):
        # Without the address that it may have been given with, it must still be found.
        now = resolve_model(coding.agent.model.name, catalogue, os.environ).name
        return CommandAnswer(
            joined(f"The model is {code(now)}.", await save_default(root, "default_model", now))
        )
    if wanted:
        require_idle(coding, "another model")
        chosen = await asyncio.to_thread(_require_model, wanted, catalogue)
        saved = await save_default(root, "default_model", wanted) if is_saved else ""
        window = f", with a window of {grouped(chosen.entry.window)} tokens" if chosen.entry.window else ""
        now = f"The model is now {code(chosen.name)}{window}. Nothing of this session is cached there yet."
        return CommandAnswer(joined(now, saved), model=wanted)
    offers, keys = await asyncio.to_thread(_offers, catalogue)
    return CommandAnswer(
        joined(
            f"This session uses {code(coding.agent.model.name)}.",
            _table(offers) or "No model is available.",
            f"Others need a key: {', '.join(map(code, keys))}." if keys else "",
            "`/model provider/name` switches to another, also `provider/name@http://host/v1`. "
            "`--save` keeps it as your default.",
        ),
        menu=_menu(offers, keys, coding.agent.model.name),
    )


def project_catalogue(coding: CodingSession) -> Catalogue:
    """Read again each time, so that a changed file counts at once."""
    return load_catalogue(load_config(cwd=Path(coding.workspace.roots[0]), env=os.environ))


def _require_model(name: str, catalogue: Catalogue) -> ResolvedModel:
    """The model with this name; an error if it does not exist or lacks its key."""
    chosen = resolve_model(name, catalogue, os.environ)
    if variable := chosen.missing(os.environ):
        raise ConfigError(
            f"`{chosen.name}` needs a key, and `{variable}` is not set", hint=f"`export {variable}=…`"
        )
    if chosen.name in catalogue.models:
        return chosen
    reached = check_availability([chosen], os.environ, SECONDS)[(chosen.url, chosen.key)]
    if not reached.is_available:
        raise InputError(
            f"`{chosen.name}` is not in the catalogue, and its provider does not answer: {reached.problem}",
            hint="`/model` lists what is available",
        )
    if reached.served and chosen.entry.model not in reached.served:
        raise InputError(
            f"`{chosen.entry.provider}` has no model `{chosen.entry.model}`",
            hint=suggest(chosen.entry.model, reached.served, prefix=f"{chosen.entry.provider}/"),
        )
    return chosen


def _offers(catalogue: Catalogue) -> tuple[list[ModelOffer], list[str]]:
    """The models whose provider can be asked, and the variables of keys that are not set."""
    # The models of the catalogue, and one placeholder for each provider that lists its models itself.
    written = {entry.provider for entry in catalogue.models.values()}
    bare = [name for name, provider in catalogue.providers.items() if provider.url and name not in written]
    names = [*catalogue.models, *(f"{name}/{ANY}" for name in bare)]
    known = models_with_address(names, catalogue, os.environ)
    keys = dict.fromkeys(variable for one in known if (variable := one.missing(os.environ)))
    usable = [one for one in known if not one.missing(os.environ)]
    reached = check_availability(usable, os.environ, SECONDS) if usable else {}
    offers = [offer for one in usable for offer in _found(one, reached[(one.url, one.key)])]
    return offers, list(keys)


def _found(chosen: ResolvedModel, reached: Availability) -> list[ModelOffer]:
    entry = chosen.entry
    if entry.model != ANY:
        if reached.is_available and reached.served and entry.model not in reached.served:
            return [(chosen, "not listed")]
        return [(chosen, reached.problem)]
    # A server that does not run is not worth a line; what a running one serves is.
    served = sorted(reached.served.items())[:MOST_SERVED]
    return [
        (replace(chosen, name=name, entry=replace(entry, name=name, window=window)), "")
        for name, window in ((f"{entry.provider}/{model}", window) for model, window in served)
    ]


def _menu(offers: Sequence[ModelOffer], keys: Sequence[str], now: str) -> Menu:
    items = []
    for chosen, trouble in _sorted(offers):
        entry = chosen.entry
        price = f"${entry.price.input:g} / ${entry.price.output:g}" if entry.price else ""
        window = f"{grouped(entry.window)} tokens" if entry.window else ""
        about = " · ".join(filter(None, (trouble, window, price)))
        items.append(MenuItem(chosen.name, about, f"/model {chosen.name}", chosen.name == now))
    needed = f"Others need a key: {', '.join(keys)}." if keys else ""
    return Menu("model", tuple(items), needed, other="/model ", other_about="switch to")


def _sorted(offers: Sequence[ModelOffer]) -> list[ModelOffer]:
    """Those that answer first."""
    return sorted(offers, key=lambda one: (bool(one[1]), one[0].name))


def _table(offers: list[ModelOffer]) -> str:
    rows = []
    for chosen, trouble in _sorted(offers):
        entry = chosen.entry
        price = f"{entry.price.input:g} / {entry.price.output:g}" if entry.price else "–"
        window = grouped(entry.window) if entry.window else "?"
        rows.append([code(chosen.name), window, price, trouble or "yes"])
    return table(["model", "window", "$/M in / out", "answers"], rows, right=(1, 2))


MODEL = SlashCommand(
    "model", "/model [PROVIDER/NAME] [--save]", "list the models, or switch to another", _run
)
