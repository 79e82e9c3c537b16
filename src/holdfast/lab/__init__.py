"""The laboratory: what a context policy keeps and costs, and weights learned from recordings.

Rule: only the command line imports it. A policy sees what had happened by then and nothing else, and the scorer
counts for itself. `replay` is the way through: `jobs` bring recordings as cases, a `run` puts each under one of
the `policies`, judged by `evidence`, `aggregate` makes rows of the scores, and `report` shows them. `fit`
learns weights from the same recordings. `policy` is what an author of a policy needs.
"""
