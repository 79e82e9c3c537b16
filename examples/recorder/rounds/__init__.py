"""The conversation, round by round."""

from recorder.rounds import change_of_mind, failing_tests, held_back, one_table, wide_names

ROUNDS = (failing_tests.ROUND, held_back.ROUND, wide_names.ROUND, one_table.ROUND, change_of_mind.ROUND)
