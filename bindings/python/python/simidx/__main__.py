"""The program: ``python -m simidx``, and ``simidx`` after an installation."""

from __future__ import annotations

import signal
import sys

from simidx._simidx import program


def main() -> int:
    """Run the program with the arguments of the process; the exit code."""
    # Ctrl-C ends the program as it ends others; Python would wait for it to return.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return program(["simidx", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
