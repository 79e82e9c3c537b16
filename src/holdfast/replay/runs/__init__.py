"""A run: one policy over one recording at one budget, asked, judged and billed.

Rule: nothing that a policy does ends a run.
"""
