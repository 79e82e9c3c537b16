"""What a shell offers after TAB, besides the names of commands and options.

Rule: completion never fails, prints nothing and creates no file; what cannot be found is not offered.
"""

import os
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from holdfast.cli.store_place import store_place
from holdfast.cli.wrapped_agents import AGENTS
from holdfast.config import load_config
from holdfast.errors import HoldfastError
from holdfast.lab.policies.registry import DESCRIPTIONS
from holdfast.models.catalogue import load_catalogue
from holdfast.packing.profile import BUILT_IN
from holdfast.prices import BUILT_IN as PRICES
from holdfast.recordings import FORMATS
from holdfast.store import open_store
from holdfast.store_places import may_exist


def profiles(_: click.Context, incomplete: str) -> list[CompletionItem]:
    names = set(BUILT_IN)
    with suppress(HoldfastError):
        names |= set(load_config(cwd=Path.cwd(), env=os.environ).profiles)
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def models(_: click.Context, incomplete: str) -> list[CompletionItem]:
    """Models of the catalogue and the configuration, and the prefixes of providers."""
    with suppress(HoldfastError):
        catalogue = load_catalogue(load_config(cwd=Path.cwd(), env=os.environ))
        names = [*catalogue.models, *(f"{provider}/" for provider in catalogue.providers)]
        return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]
    return []


def formats(_: click.Context, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


def policies(_: click.Context, incomplete: str) -> list[CompletionItem]:
    """Completes the last of a list of names, and keeps the others."""
    *before, last = incomplete.split(",")
    head = "".join(f"{name}," for name in before)
    return [CompletionItem(head + n, help=d) for n, d in DESCRIPTIONS.items() if n.startswith(last)]


def price_tables(_: click.Context, incomplete: str) -> list[CompletionItem]:
    names = [CompletionItem(name) for name in PRICES if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def logs(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    with suppress(HoldfastError):
        place = store_place(ctx)
        if may_exist(place):
            with open_store(place) as store:
                heads = [info.head for info in store.logs()]
            return [CompletionItem(h.id, help=h.title) for h in heads if h.id.startswith(incomplete)]
    return []


def wrapped_agents(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Agents that `holdfast wrap` knows; after the name of one, files."""
    if ctx.params.get("agent"):
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(name) for name in AGENTS if name.startswith(incomplete)]


def recordings(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Files first: the scripts of click empty the list when they meet that type."""
    return [CompletionItem(incomplete, type="file"), *(logs(ctx, incomplete) if incomplete else [])]


def listed_rules(_ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Rules that hold in this folder and can be taken back."""
    # Loaded late: no other completion needs the agent.
    from holdfast.agents.listed_rules import list_rules  # noqa: PLC0415

    found, _ = list_rules(Path.cwd(), os.environ)
    return [CompletionItem(one.rule) for one in found if one.rule.startswith(incomplete)]
