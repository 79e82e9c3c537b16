"""From the log to the messages to send: the window, its frozen view, folds, and the pack.

Rule: pure. No clock, no randomness, no file, no network.
"""
