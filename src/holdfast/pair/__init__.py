"""The pair's values: roles, phases, handovers, evaluation and stop rules."""
