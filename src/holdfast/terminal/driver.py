"""Textual's driver, on a terminal that shows the first frame already.

Rule: the screen is not entered a second time, since some terminals clear it then, and at the end the terminal gets
back the attributes that it had before the first frame.
"""

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from holdfast.terminal.first_frame import ENTER, Painted


def driver_over(painted: Painted) -> type[Driver]:
    class TakingOver(LinuxDriver):
        def start_application_mode(self) -> None:
            super().start_application_mode()  # type: ignore[no-untyped-call]
            self.attrs_before = painted.before

        def write(self, data: str) -> None:
            if data == ENTER and not painted.is_taken_over:
                painted.is_taken_over = True
                return
            super().write(data)

    return TakingOver
