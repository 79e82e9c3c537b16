"""Exit codes that no error of `holdfast.errors` carries."""

INTERRUPTED = 130
UNEXPECTED = 70

ENDS = {
    "done": 0,
    "overflow": 5,
    "steps": 10,
    "cost": 11,
    "time": 12,
    "loop": 13,
    "empty": 14,
    "refused": 15,
    "model": 16,
    "ask": 17,
    "schema": 18,
    "interrupted": INTERRUPTED,
}
"""What `holdfast run` ends with, by what its run came to."""
