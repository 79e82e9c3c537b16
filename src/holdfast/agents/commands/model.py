"""`/mode`: what the agent may do without asking.

Rule: a mode is a person's choice for this coding; nothing of it goes into the log.
"""

import asyncio
import os
from pathlib import Path
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, require_idle
from holdfast.agents.commands.cost import project_catalogue
from holdfast.agents.commands.markdown import bullets, code, grouped, joined, table
from holdfast.errors import ConfigError, InputError
from holdfast.models.availability import Availability, check_availability
from holdfast.models.catalogue import Catalogue
from holdfast.models.selection import ResolvedModel, resolve_model
from holdfast.settings import nearest
from holdfast.tools.permissions import PermissionMode

MODES: dict[PermissionMode, str] = {
    "plan": "looks and plans; nothing is changed",
    "ask": "asks before each change and each command that does more than look",
    "edit": "edits files without asking; other commands are asked about",
    "auto": "asks only where a rule says so",
}


async def _run_mode(coding: CodingSession, argument: str) -> CommandAnswer:
    if not argument:
        rows = (f"{code(name)}{' (now)' * (name == coding.mode)}: {about}" for name, about in MODES.items())
        return CommandAnswer(bullets(rows))
    chosen: PermissionMode | None = next(
        (mode for mode in get_args(PermissionMode) if mode == argument.lower()), None
    )
    if chosen is None:
        raise InputError(
            f"there is no mode `{argument}`", hint=f"the nearest is `{nearest(argument.lower(), [*MODES])}`"
        )
    coding.mode = chosen
    return CommandAnswer(f"Mode {code(chosen)}: {MODES[chosen]}.")


MODE = SlashCommand("mode", "/mode [plan|ask|edit|auto]", "what may be done without asking", _run_mode)


# `/model`: which models can be asked from here, and to go on with another one.
#
# Rule: nothing is asked that costs money, and a key is never shown.

SECONDS = 3.0
ANY = "…"
"""Stands for the models of a provider of which none is written down."""

MOST_SERVED = 20
"""Models of a server of one's own that are listed."""


class ModelOffer(Struct, frozen=True):
    """A model that can be asked. `trouble` is why it cannot, as far as its provider tells."""

    chosen: ResolvedModel
    trouble: str = ""


async def _run_model(coding: CodingSession, argument: str) -> CommandAnswer:
    catalogue = project_catalogue(Path(coding.workspace.roots[0]))
    if argument:
        require_idle(coding, "another model")
        chosen = await asyncio.to_thread(_expected, argument, catalogue)
        window = f", with a window of {grouped(chosen.entry.window)} tokens" if chosen.entry.window else ""
        return CommandAnswer(
            f"From now on {code(chosen.name)} is asked{window}. Nothing of this talk is cached there yet.",
            model=argument,
        )
    offers, keys = await asyncio.to_thread(_offers, catalogue)
    return CommandAnswer(
        joined(
            f"This talk is with {code(coding.agent.model.name)}.",
            _drawn(offers) or "No model can be asked from here.",
            f"Others need a key: {', '.join(map(code, keys))}." if keys else "",
            "`/model provider/name` goes on with another, also `provider/name@http://host/v1`.",
        )
    )


def _expected(name: str, catalogue: Catalogue) -> ResolvedModel:
    """What a name stands for, once it is known to be there and to have its key."""
    chosen = resolve_model(name, catalogue, os.environ)
    if variable := chosen.missing(os.environ):
        raise ConfigError(
            f"`{chosen.name}` needs a key, and `{variable}` is not set", hint=f"`export {variable}=…`"
        )
    if chosen.name in catalogue.models:
        return chosen
    reached = _asked([chosen])[(chosen.url, chosen.key)]
    if not reached.is_available:
        raise InputError(
            f"`{chosen.name}` is not in the catalogue, and its provider cannot be asked: {reached.problem}",
            hint="`/model` lists what can be asked",
        )
    if reached.served and chosen.entry.model not in reached.served:
        near = nearest(chosen.entry.model, list(reached.served))
        raise InputError(
            f"`{chosen.entry.provider}` has no model `{chosen.entry.model}`",
            hint=f"the nearest is `{chosen.entry.provider}/{near}`",
        )
    return chosen


def _offers(catalogue: Catalogue) -> tuple[list[ModelOffer], list[str]]:
    """Models whose provider answers with the key there is; and the variables of the keys that are not set."""
    known = [resolve_model(name, catalogue, os.environ) for name in _names(catalogue)]
    keys = dict.fromkeys(variable for one in known if (variable := one.missing(os.environ)))
    usable = [one for one in known if not one.missing(os.environ)]
    reached = _asked(usable)
    offers = [offer for one in usable for offer in _found(one, reached[(one.url, one.key)])]
    return offers, list(keys)


def _names(catalogue: Catalogue) -> list[str]:
    """The models that are written down, and one name for each provider that says itself what it has."""
    written = {entry.provider for entry in catalogue.models.values()}
    bare = [name for name, provider in catalogue.providers.items() if provider.url and name not in written]
    return [*catalogue.models, *(f"{name}/{ANY}" for name in bare)]


def _asked(chosen: list[ResolvedModel]) -> dict[tuple[str, str], Availability]:
    return check_availability(chosen, os.environ, SECONDS) if chosen else {}


def _found(chosen: ResolvedModel, reached: Availability) -> list[ModelOffer]:
    entry = chosen.entry
    if entry.model != ANY:
        if reached.is_available and reached.served and entry.model not in reached.served:
            return [ModelOffer(chosen, "the provider does not list it")]
        return [ModelOffer(chosen, reached.problem)]
    # A server that nobody runs is no news; what one serves is.
    served = sorted(reached.served.items())[:MOST_SERVED]
    return [
        ModelOffer(replace(chosen, name=name, entry=replace(entry, name=name, window=window)))
        for name, window in ((f"{entry.provider}/{model}", window) for model, window in served)
    ]


def _drawn(offers: list[ModelOffer]) -> str:
    rows = []
    for offer in sorted(offers, key=lambda one: (bool(one.trouble), one.chosen.name)):
        entry = offer.chosen.entry
        price = f"${entry.price.input:g} / ${entry.price.output:g}" if entry.price else "–"
        window = grouped(entry.window) if entry.window else "?"
        rows.append([code(offer.chosen.name), window, price, offer.trouble or "yes"])
    return table(["model", "window", "a million tokens in / out", "answers"], rows, right=(1, 2))


MODEL = SlashCommand(
    "model", "/model [PROVIDER/NAME]", "which models there are, or go on with another", _run_model
)
