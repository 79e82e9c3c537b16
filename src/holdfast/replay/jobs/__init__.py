"""Jobs: recordings on their way through the processes of a replay.

Rule: what goes to a process and what comes back are plain values, and no recording waits for another.
"""
