"""The most memory since a moment: seen where the system can tell, and begun again when asked."""

import pytest

from holdfast.lab.run import PEAK, RESIDENT, memory_bytes, reset_peak

SIZE = 64_000_000


def test_a_peak_is_seen_after_it_has_gone_and_forgotten_when_asked():
    if not reset_peak():
        pytest.skip("this system cannot begin a peak again")
    before = memory_bytes(RESIDENT)
    block = bytearray(b"x" * SIZE)
    del block
    assert memory_bytes(PEAK) - before > SIZE * 0.9
    high = memory_bytes(PEAK)
    assert reset_peak()
    assert memory_bytes(PEAK) < high - SIZE * 0.5
