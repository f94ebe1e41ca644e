"""A small launch whose result nobody wants: it loads and builds whatever the first launch of a process would."""

from __future__ import annotations

import numpy as np

from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

__all__ = ["rehearse"]

# Arithmetic, a guard, a loop, shared memory and a barrier: what most kernels of a course are made of.
PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry rehearsal(.param .u64 from, .param .u64 to, .param .u32 n)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    .shared .align 4 .b8 tile[128];
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    shl.b32 %r7, %r4, 2;
    mov.u32 %r8, tile;
    add.s32 %r8, %r8, %r7;
    mov.f32 %f1, 0f00000000;
    st.shared.f32 [%r8], %f1;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra END;
    mul.wide.s32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    mov.u32 %r6, 0;
NEXT:
    fma.rn.f32 %f1, %f2, %f2, %f1;
    add.s32 %r6, %r6, 1;
    setp.lt.s32 %p2, %r6, %r4;
    @%p2 bra NEXT;
    st.shared.f32 [%r8], %f1;
    ld.shared.f32 %f3, [%r8];
    st.global.f32 [%rd7], %f3;
END:
    bar.sync 0;
    ret;
}
"""
ELEMENTS = 40  # a whole warp and a warp that parts


def rehearse() -> None:
    """Translates and runs the kernel in this thread.

    Raises:
        RuntimeError: it did not run; nothing else would.
    """
    x = np.ones(ELEMENTS, np.float32)
    arguments = (
        Argument("from", Direction.IN, x), Argument("to", Direction.OUT, np.zeros_like(x)),
        Argument("n", Direction.SCALAR, np.int32(ELEMENTS)),
    )  # fmt: skip
    result = Program.from_ptx(PTX).launch(LaunchConfig(Dim3(2), Dim3(32)), arguments, threads=1)
    if result.status is not Status.OK:
        raise RuntimeError(f"the rehearsal ended as {result.status}: {[found.message for found in result.diagnostics]}")
