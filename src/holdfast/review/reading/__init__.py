"""From git, or from a text, to a diff and both versions of its files."""
