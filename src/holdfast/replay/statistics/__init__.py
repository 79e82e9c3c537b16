"""Statistics: from scores of single recordings to rows, intervals, differences and rankings.

Rule: pure arithmetic on scores; the same scores give the same figures in whatever order they come.
"""
