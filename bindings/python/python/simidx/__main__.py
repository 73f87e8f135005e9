"""The program: ``python -m simidx``, and ``simidx`` after an installation."""

from __future__ import annotations

import signal
import sys

from simidx._simidx import program


def main() -> int:
    """Run the program with the arguments of the process, and return its exit code."""
    # Let Ctrl-C end the program at once; Python would wait for it to return.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return program(["simidx", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
