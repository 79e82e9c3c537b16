"""Whether a framework is there, and is one that we know: said in one sentence where it is not."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from holdfast.errors import HoldfastError


class FrameworkUnavailable(HoldfastError, ImportError):
    """The framework of an adapter is not installed, is too old, or has not what the adapter uses."""

    exit_code = 2


@contextmanager
def required(package: str, at_least: str) -> Iterator[None]:
    """Around the imports of a package. Raises FrameworkUnavailable unless this version or a later one is installed,
    and has what is imported."""
    hint = f'pip install "{package}>={at_least}"'
    try:
        found = version(package)
    except PackageNotFoundError:
        raise FrameworkUnavailable(f"the package `{package}` is not installed", hint=hint) from None
    if _numbers(found) < _numbers(at_least):
        raise FrameworkUnavailable(
            f"`{package}` {found} is too old: this adapter is for {at_least} and later", hint=hint
        )
    try:
        yield
    except FrameworkUnavailable:
        raise
    except ImportError as error:
        raise FrameworkUnavailable(
            f"`{package}` {found} cannot be used by this adapter: {error}",
            hint="install a version that it was tested with: they are in docs/adapters.md",
        ) from error


def _numbers(version_: str) -> tuple[int, ...]:
    """The leading numbers of a version, without what marks a pre-release."""
    release = re.match(r"\d+(?:\.\d+)*", version_)
    return tuple(map(int, release[0].split("."))) if release else ()
