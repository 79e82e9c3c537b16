"""Summaries of older steps: planned, written by a model or by rule, checked against the log, and recorded.

Rule: `compact` is the way in; `plan` and `preparation` only read the log.
"""
