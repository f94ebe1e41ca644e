"""`python -m simt`."""

import sys

from simt.cli import main

if __name__ == "__main__":
    sys.exit(main())
