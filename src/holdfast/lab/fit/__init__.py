"""Fitting: which lines and names are worth keeping, learned from recordings.

Rule: features know the log up to a fold, labels know what came after it, and quality is never measured on what
was fitted on. `examples` come from recordings, `regression` makes weights of them and says how good they are,
and `fit_results` replays recordings with weights fitted on the others.
"""
