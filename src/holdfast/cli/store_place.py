"""Where the store is, as the command line, the environment and the configuration say.

Rule: a command that needs to know no more than this loads no more than this.
"""

import os
from pathlib import Path

import click

from holdfast.cli.options import STORE
from holdfast.config import load_config
from holdfast.store import default_path


def store_path(ctx: click.Context) -> Path:
    if STORE in ctx.meta:
        given: Path = ctx.meta[STORE]
        return given.expanduser()
    config = load_config(cwd=Path.cwd(), env=os.environ)
    return Path(config.store) if config.store else default_path(os.environ)
