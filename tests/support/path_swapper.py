"""A path that changes what it is, again and again, while something else looks at it."""

import contextlib
import itertools
import threading


class PathSwapper:
    """Swaps `name` between two states as fast as it can, by atomic renames."""

    def __init__(self, name, make_good, make_bad):
        self.name, self.states, self.stop = name, (make_good, make_bad), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        aside = self.name.with_name("aside")
        parked = [self.name.with_name(f"parked{i}") for i in (0, 1)]
        self.states[0](parked[0])
        self.states[1](parked[1])
        for number in itertools.count():
            if self.stop.is_set():
                return
            place = parked[number % 2]
            if self.name.is_dir() and not self.name.is_symlink():
                # The guard made the folder again while it was away.
                self.name.rename(self.name.with_name(f"made{number}"))
            with contextlib.suppress(OSError):
                place.rename(self.name)
                self.name.rename(aside)
                aside.rename(place)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
