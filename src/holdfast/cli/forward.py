"""Going through a recording under a profile and a budget, up to a step.

Rule: the same options give the same window, whichever command asks.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from holdfast.cli.output import warn
from holdfast.cli.progress import tracked
from holdfast.config import load_config, resolve
from holdfast.errors import InputError
from holdfast.events import Entry, Folded
from holdfast.packing.forward import go_forward
from holdfast.packing.profile import Profile, parse_tokens
from holdfast.packing.window import Window
from holdfast.tokenizers import counter_for_model
from holdfast.views import Transcript

MANY = 1_000
"""Entries that take long enough to pack to be worth a bar."""


def chosen_settings(name: str, budget: str | None) -> Profile:
    """The profile as configuration and environment have it, at the budget that was asked for."""
    env = os.environ
    loaded = resolve(load_config(cwd=Path.cwd(), env=env), env, name)
    for warning in loaded.warnings:
        warn(warning)
    return loaded.profile if budget is None else loaded.profile.scaled_to(parse_tokens(budget))


def before_step(entries: Sequence[Entry], step: int | None) -> Sequence[Entry]:
    """The entries before the reply of a step; one more than there are steps means all of them."""
    if step is None:
        return entries
    steps = Transcript(entries).steps
    if step == len(steps) + 1:
        return entries
    if step > len(steps):
        raise InputError(
            f"`--at {step}` lies behind the last step, which is {len(steps)}",
            hint="`holdfast show` lists rounds with the numbers of their steps",
        )
    reply = steps[step - 1].entry
    return entries[: next(at for at, entry in enumerate(entries) if entry.id == reply)]


def window_after(entries: Sequence[Entry], settings: Profile, model: str) -> tuple[Window, list[Folded]]:
    """The window after all entries, and the folds made on the way."""
    with tracked(entries, "packing", total=len(entries), shown=len(entries) > MANY) as steps:
        return go_forward(settings, counter_for_model(model), steps)
