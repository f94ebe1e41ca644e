"""`python -m grader`."""

import gc
import os
import sys

# Before NumPy loads: a pool of OpenBLAS threads costs more to start than the small products of a check would gain.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if __name__ == "__main__":
    try:
        from grader.cli import main

        status = main()
    except KeyboardInterrupt:  # while it was still loading
        sys.exit(130)
    gc.freeze()  # or the interpreter walks through everything that is loaded once more before it ends
    sys.exit(status)
