"""`python -m simt`."""

import gc
import os
import sys

# Before NumPy loads: a pool of OpenBLAS threads costs more to start than a launch, which does no linear algebra.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from simt.cli import main

if __name__ == "__main__":
    status = main()
    gc.freeze()  # or the interpreter walks through everything that is loaded once more before it ends
    sys.exit(status)
