"""What every agent shares: the loop, `build_agent`, limits, sessions, project rules and spending.

Rule: nothing here knows a screen or a terminal.
"""
