"""Replay: what evidence a context policy keeps in front of the agent, and what its requests cost.

Rule: a policy sees what had happened by then and nothing else, and the scorer counts for itself. `replaying` is the
way through: `jobs` bring recordings as `case`s, `runs` put each under the `policies`, judged by `evidence`, and
`gathering` makes their scores a report with `statistics`, which `report` shows.
"""
