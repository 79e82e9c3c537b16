"""A framework that is missing or too old is told in one sentence."""

import pytest

from holdfast.adapters.requirement import FrameworkUnavailable, require


def test_a_package_that_is_new_enough() -> None:
    require("msgspec", "0.1")


def test_a_package_that_is_too_old() -> None:
    with pytest.raises(
        FrameworkUnavailable, match=r"`msgspec` .* is too old.* 99\.1 and later\nhint: pip install"
    ):
        require("msgspec", "99.1")


def test_a_package_that_is_not_there() -> None:
    with pytest.raises(ImportError, match=r"`no-such-framework` is not installed\nhint: pip install"):
        require("no-such-framework", "1.0")
