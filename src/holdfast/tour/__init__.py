"""The demo: a scripted model and a scratch repository."""
