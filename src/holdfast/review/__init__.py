"""Code review: read a change, split it into units, check it with rules, verify findings, report them.

The pipeline goes one way: `git_changes` and `diff_parser` read a diff, `units` splits it, `checks` look at it,
`findings` keeps what holds, `report` and `sarif` write it. `review` runs all of this.
"""
