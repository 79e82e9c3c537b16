"""Where the store is, as the command line, the environment and the configuration say.

Rule: a command that needs to know no more than this loads no more than this.
"""

import os
from pathlib import Path

import click

from holdfast.cli.options import STORE
from holdfast.config import load_config
from holdfast.store_places import Place, default_place, parse_place


def store_place(ctx: click.Context) -> Place:
    if STORE in ctx.meta:
        given: Place = ctx.meta[STORE]
        return given
    config = load_config(cwd=Path.cwd(), env=os.environ)
    return parse_place(config.store) if config.store else default_place(os.environ)
