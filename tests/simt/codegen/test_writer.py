"""The stack of generated code: pieces under one name are never smaller than what is stored there."""

import re

import pytest

from simt.codegen.lower import lower
from simt.codegen.plan import make_plan
from simt.ptx.parser import parse

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b32 %r<20>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
shfl.sync.down.b32 %r2, %r1, 1, 31, -1;
st.global.v4.u32 [%rd3], {%r1, %r2, %r1, %r2};
ret;
}"""


def test_a_name_used_for_a_shuffle_and_a_wide_store_has_room_for_both():
    text = lower(make_plan(parse(KERNEL), "k", (32, 1, 1)), masked=False)
    sizes = [int(n) for n in re.findall(r"%\"data[.\d]*\" = alloca \[(\d+) x i8\]", text)]
    assert sorted(sizes) == [256, 2048]


def test_a_value_for_each_lane_never_goes_where_one_for_the_warp_has_room(monkeypatch):
    monkeypatch.setattr("simt.codegen.uniform._VARYING", frozenset())
    later = "setp.gt.u32 %p1, %r3, 5; @%p1 bra L; mov.u32 %r3, 6;\nL: st.global"
    text = KERNEL.replace("%tid.x", "7").replace(".reg .b32", ".reg .pred %p<2>; .reg .b32").replace("st.global", later)
    with pytest.raises(ValueError, match="%r2 has one value for the whole warp"):
        lower(make_plan(parse(text), "k", (32, 1, 1)), masked=False)
