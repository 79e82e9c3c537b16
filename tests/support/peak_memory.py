"""Runs a command, passes on its streams and exit code, and writes its peak memory in bytes to a file.

A small process of its own: a child inherits the peak of the process that starts it.
"""

import resource
import subprocess
import sys
from pathlib import Path

into, *command = sys.argv[1:]
done = subprocess.run(command, check=False)
Path(into).write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024))
sys.exit(done.returncode)
