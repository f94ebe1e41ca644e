"""The facade: CUDA C++ or PTX in, launches out. The only file that wires every stage together.

    program = Program.from_cuda(source, kernel="saxpy")
    result = program.launch(LaunchConfig(Dim3(4), Dim3(256)), [
        Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.empty_like(x)),
        Argument("n", Direction.SCALAR, np.int32(x.size))])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simt.events import ALL_CHECKS, Argument, Budget, LaunchResult
from simt.launch import LaunchConfig

__all__ = ["BuildFailed", "Program"]


class BuildFailed(Exception):
    """The CUDA text did not become PTX; `build` holds log and diagnostics."""

    def __init__(self, build):
        super().__init__(build.log)
        self.build = build


@dataclass(frozen=True)
class Program:
    """A kernel that is ready to launch."""

    source: str
    ptx: str
    kernel: str
    arch: str

    @classmethod
    def from_cuda(cls, source: str, *, kernel: str | None = None, arch: str = "sm_80", **build_options) -> Program:
        raise NotImplementedError

    @classmethod
    def from_ptx(cls, ptx: str, *, kernel: str | None = None, arch: str = "sm_80", source: str = "") -> Program:
        raise NotImplementedError

    def launch(
        self,
        config: LaunchConfig,
        arguments: Sequence[Argument],
        *,
        checks: frozenset[str] = ALL_CHECKS,
        budget: Budget = Budget(),
        threads: int | None = None,
        want_writers: bool = False,
        trace: int = 0,
    ) -> LaunchResult:
        """Runs one launch. `trace` > 0 records up to that many memory requests, single-threaded in block order."""
        raise NotImplementedError
