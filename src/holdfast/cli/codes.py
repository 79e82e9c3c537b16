"""Exit codes that no error of `holdfast.errors` carries."""

INTERRUPTED = 130
UNEXPECTED = 70
