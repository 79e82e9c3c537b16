"""The models that are known in a folder, by its configuration and the environment.

Rule: read when asked, never kept: a file that was changed since counts at once.
"""

import os
from pathlib import Path

from holdfast.config import load_config
from holdfast.models.catalogue import Catalogue, load_catalogue


def catalogue_for(folder: Path) -> Catalogue:
    return load_catalogue(load_config(cwd=folder, env=os.environ))
