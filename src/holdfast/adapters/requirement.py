"""Whether a framework is there, and new enough: said in one sentence where it is not."""

import re
from importlib.metadata import PackageNotFoundError, version

from holdfast.errors import HoldfastError


class FrameworkUnavailable(HoldfastError, ImportError):
    """The framework of an adapter is not installed, or is too old."""

    exit_code = 2


def require(package: str, at_least: str) -> None:
    """Raise FrameworkUnavailable unless this version of a package, or a later one, is installed."""
    hint = f'pip install "{package}>={at_least}"'
    try:
        found = version(package)
    except PackageNotFoundError:
        raise FrameworkUnavailable(f"the package `{package}` is not installed", hint=hint) from None
    if _numbers(found) < _numbers(at_least):
        raise FrameworkUnavailable(
            f"`{package}` {found} is too old: this adapter is for {at_least} and later", hint=hint
        )


def _numbers(version_: str) -> tuple[int, ...]:
    """The leading numbers of a version, without what marks a pre-release."""
    release = re.match(r"\d+(?:\.\d+)*", version_)
    return tuple(map(int, release[0].split("."))) if release else ()
