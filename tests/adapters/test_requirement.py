"""A framework that is missing, too old or too new is told in one sentence."""

import pytest

from holdfast.adapters.requirement import FrameworkUnavailable, required


def test_a_package_that_is_new_enough() -> None:
    with required("msgspec", "0.1"):
        import msgspec  # noqa: F401, PLC0415 - what an adapter does


def test_a_package_that_is_too_old() -> None:
    wanted = r"`msgspec` .* is too old.* 99\.1 and later\nhint: pip install"
    with pytest.raises(FrameworkUnavailable, match=wanted), required("msgspec", "99.1"):
        raise AssertionError("nothing is imported of it")


def test_a_package_that_is_not_there() -> None:
    wanted = r"`no-such-framework` is not installed\nhint: pip install"
    with pytest.raises(ImportError, match=wanted), required("no-such-framework", "1.0"):
        raise AssertionError("nothing is imported of it")


def test_a_package_that_no_longer_has_what_is_imported() -> None:
    wanted = (
        r"`msgspec` \S+ cannot be used by this adapter: cannot import name 'gone' .*\nhint: .*docs/adapters"
    )
    with pytest.raises(FrameworkUnavailable, match=wanted), required("msgspec", "0.1"):
        from msgspec import gone  # noqa: F401, PLC0415 - what an adapter does
