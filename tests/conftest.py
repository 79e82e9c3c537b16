"""Hypothesis tries other examples at every run, except where CI asks for the same ones each time.

No example has a deadline: machines are shared, and how fast something is stands in benchmarks.
"""

import os

from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "shared")
