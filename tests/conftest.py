"""Hypothesis tries other examples at every run, except where CI asks for the same ones each time."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
