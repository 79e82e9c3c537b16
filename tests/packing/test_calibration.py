"""Calibration: finds the line that reports follow, never leaves its bounds, follows the newest reports."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.packing.counting.calibration import HIGH, LAST, LOW, Calibration

SLOPES = st.floats(0.6, 2.5)
EACHES = st.floats(0, 40)
CONSTANTS = st.floats(0, 60_000)
GARBAGE = st.tuples(
    st.integers(-(10**12), 10**12) | st.integers(0, 200_000),
    st.integers(-100, 10**9) | st.integers(0, 500),
    st.integers(-(10**12), 10**12) | st.integers(0, 200_000),
)


def conversation(count: int, slope: float, each: float, constant: float) -> Calibration:
    """Reports of a conversation that grows by steps of uneven size and is folded twice."""
    calibration = Calibration()
    tokens = messages = 0
    for i in range(count):
        tokens, messages = (tokens // 4, messages // 3) if i in (15, 30) else (tokens, messages)
        tokens += 200 + (i * 7919) % 3000
        messages += 2 + i % 3
        calibration = calibration.observe(
            tokens, messages, round(slope * tokens + each * messages + constant)
        )
    return calibration


def test_without_reports_the_count_stands() -> None:
    assert Calibration().estimate(10_000, 50) == 10_000


@pytest.mark.slow
@settings(max_examples=150)
@given(SLOPES, EACHES, CONSTANTS, st.integers(5_000, 150_000), st.integers(2, 100))
def test_a_line_is_recovered(slope: float, each: float, constant: float, tokens: int, messages: int) -> None:
    true = slope * tokens + each * messages + constant
    estimate = conversation(40, slope, each, constant).estimate(tokens, messages)
    assert estimate == pytest.approx(true, rel=0.01)


def test_the_three_numbers_are_recovered_where_the_reports_tell_them_apart() -> None:
    slope, each, constant = conversation(60, 1.3, 12, 4_000).line
    assert slope == pytest.approx(1.3, abs=0.005)
    assert each == pytest.approx(12, abs=2)
    assert constant == pytest.approx(4_000, rel=0.01)


def test_one_report_of_a_hidden_system_prompt_becomes_the_constant() -> None:
    estimate = Calibration().observe(500, 1, 22_000).estimate(2_500, 5)
    assert 23_500 <= estimate <= 26_000


def test_one_report_on_a_long_prompt_moves_the_slope_too() -> None:
    slope, _, constant = Calibration().observe(100_000, 200, 130_000).line
    assert 1.05 < slope < 1.3
    assert constant > 0


def test_new_reports_outweigh_old_ones() -> None:
    calibration = conversation(40, 1.0, 0, 0)
    for i in range(25):
        tokens = 20_000 + 1_500 * i
        calibration = calibration.observe(tokens, 50 + i, round(1.4 * tokens))
    assert calibration.estimate(50_000, 70) == pytest.approx(70_000, rel=0.05)


def test_noise_cancels_out() -> None:
    calibration = Calibration()
    for i in range(60):
        tokens = 10_000 + 1_000 * i
        calibration = calibration.observe(tokens, 2 * i, tokens * (110 if i % 2 else 90) // 100)
    assert calibration.estimate(50_000, 80) == pytest.approx(50_000, rel=0.05)


def test_only_the_last_reports_are_kept() -> None:
    calibration = conversation(LAST + 25, 1.2, 5, 100)
    assert len(calibration.observations) == LAST
    again = Calibration()
    for seen in calibration.observations:
        again = again.observe(seen.tokens, seen.messages, seen.reported)
    assert again == calibration
    assert again.line == calibration.line


@pytest.mark.parametrize("report", [(0, 1, 50), (-5, 1, 50), (100, -1, 50), (100, 1, 0), (100, 1, -7)])
def test_a_report_of_nothing_teaches_nothing(report: tuple[int, int, int]) -> None:
    before = conversation(5, 1.2, 5, 100)
    assert before.observe(*report) is before


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(GARBAGE, max_size=70), st.integers(0, 10**9), st.integers(0, 10**6), st.integers(0, 10**6))
def test_garbage_stays_within_bounds(
    reports: list[tuple[int, int, int]], tokens: int, more: int, messages: int
) -> None:
    calibration = Calibration()
    for report in reports:
        calibration = calibration.observe(*report)
    assert all(low <= value <= high for low, value, high in zip(LOW, calibration.line, HIGH, strict=True))
    assert 1 <= calibration.estimate(tokens, messages) <= calibration.estimate(tokens + more, messages)


@settings(max_examples=60)
@given(st.lists(GARBAGE, min_size=3, max_size=10), st.tuples(*[st.floats(0, 1)] * 3))
def test_no_line_within_the_bounds_fits_better(
    reports: list[tuple[int, int, int]], place: tuple[float, float, float]
) -> None:
    """Checked from outside: the stated cost of any other line is not lower."""
    calibration = Calibration()
    for tokens, messages, reported in reports:
        calibration = calibration.observe(min(tokens, 10**6), min(messages, 2000), min(reported, 10**6))
    assume(calibration.observations)
    other = (0.5 + 2.5 * place[0], 50 * place[1], 10**6 * place[2])
    assert cost(calibration, calibration.line) <= cost(calibration, other) * (1 + 1e-6)


def cost(calibration: Calibration, line: tuple[float, float, float]) -> float:
    slope, each, constant = line
    total = ((slope - 1) / 0.25) ** 2 + (each / 25) ** 2 + (constant / 20_000) ** 2
    for age, seen in enumerate(reversed(calibration.observations)):
        missed = slope * seen.tokens + each * seen.messages + constant - seen.reported
        total += 0.9**age * (missed / (1 + 0.001 * max(seen.reported, seen.tokens))) ** 2
    return total
