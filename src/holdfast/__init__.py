"""Holdfast keeps a long-running LLM agent inside its context window."""
