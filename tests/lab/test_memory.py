"""The most memory since a moment: seen where the system can tell, and begun anew when asked."""

import pytest

from holdfast.lab.run import peak_bytes, reset_peak, resident_bytes

SIZE = 64_000_000


def test_a_peak_is_seen_after_it_has_gone_and_forgotten_when_asked():
    if not reset_peak():
        pytest.skip("this system cannot begin a peak anew")
    before = resident_bytes()
    block = bytearray(b"x" * SIZE)
    del block
    assert peak_bytes() - before > SIZE * 0.9
    high = peak_bytes()
    assert reset_peak()
    assert peak_bytes() < high - SIZE * 0.5
