"""Fitting: what lines and names are worth, learned from recordings.

Rule: features know the log up to a fold, labels what came after it, and no figure of quality is taken on what was
fitted on. `gathering` makes `examples` of recordings, `learning` makes weights of them and says how good they are,
`trial` replays recordings with weights fitted on the others; `results` and `report` show it all.
"""
