"""What an instruction writes and reads, a row each: text, destinations, sources."""

import pytest

from simt.ptx.cfg import build
from simt.ptx.liveness import liveness
from simt.ptx.parser import parse
from simt.ptx.usedef import defs, uses, writes_first

REGISTERS = ".reg .pred p, q, g; .reg .b32 a, b, c, d, e, f; .reg .b64 x, y;"

ROWS = [
    ("add.s32 a, b, c;", "a", "b c"),
    ("add.s32 a, a, 1;", "a", "a"),
    ("@g add.s32 a, b, c;", "a", "g b c"),
    ("@!g bra L;", "", "g"),
    ("L2: bra L2;", "", ""),
    ("ld.global.f32 a, [x+4];", "a", "x"),
    ("ld.global.v2.f32 {a, b}, [x];", "a b", "x"),
    ("ld.global.v2.f32 {_, b}, [x];", "b", "x"),
    ("st.global.f32 [x], a;", "", "x a"),
    ("st.shared.v2.f32 [a], {b, c};", "", "a b c"),
    ("red.global.add.s32 [x], a;", "", "x a"),
    ("atom.global.add.s32 a, [x], b;", "a", "x b"),
    ("atom.global.cas.b32 _, [x], b, c;", "", "x b c"),
    ("setp.lt.s32 p|q, a, b;", "p q", "a b"),
    ("setp.lt.and.s32 p, a, b, !q;", "p", "a b q"),
    ("selp.b32 a, b, c, p;", "a", "b c p"),
    ("shfl.sync.idx.b32 a|p, b, c, 31, d;", "a p", "b c d"),
    ("shfl.sync.idx.b32 a, b, c, 31, -1;", "a", "b c"),
    ("vote.sync.ballot.b32 a, p, b;", "a", "p b"),
    ("vote.sync.any.pred p, !q, b;", "p", "q b"),
    ("match.all.sync.b32 a|p, b, c;", "a p", "b c"),
    ("redux.sync.add.s32 a, b, c;", "a", "b c"),
    ("activemask.b32 a;", "a", ""),
    ("elect.sync a|p, b;", "a p", "b"),
    ("mov.b64 x, {a, b};", "x", "a b"),
    ("mov.b64 {a, b}, x;", "a b", "x"),
    ("mov.u32 a, %tid.x;", "a", ""),
    ("bar.sync a, b;", "", "a b"),
    ("bar.warp.sync a;", "", "a"),
    ("bar.red.popc.u32 a, 0, b, p;", "a", "b p"),
    ("barrier.cta.red.and.pred p, 0, q;", "p", "q"),
    ("barrier.cta.arrive a, b;", "", "a b"),
    ("barrier.cluster.arrive;", "", ""),
    ("nanosleep.u32 a;", "", "a"),
    ("mbarrier.init.shared.b64 [a], b;", "", "a b"),
    ("mbarrier.arrive.shared.b64 x, [a];", "x", "a"),
    ("mbarrier.arrive.expect_tx.shared.b64 _, [a], b;", "", "a b"),
    ("mbarrier.try_wait.parity.shared.b64 p, [a], b;", "p", "a b"),
    ("mbarrier.pending_count.b64 a, x;", "a", "x"),
    ("cp.async.cg.shared.global [a], [x], 16, b;", "", "a x b"),
    ("cp.async.wait_group 1;", "", ""),
    ("cp.async.bulk.tensor.2d.shared::cluster.global.tile [a], [x, {b, c}], [d];", "", "a x b c d"),
    ("prefetch.global.L2 [x];", "", "x"),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {a, b}, [c];", "a b", "c"),
    ("stmatrix.sync.aligned.m8n8.x2.shared.b16 [a], {b, c};", "", "a b c"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {a, b}, {c, d}, {e}, {a, b};", "a b", "c d e a b"),
    ("wmma.load.a.sync.row.m16n16k16.f16 {a, b}, [x], c;", "a b", "x c"),
    ("wmma.store.d.sync.row.m16n16k16.f32 [x], {a, b}, c;", "", "x a b c"),
    ("wmma.mma.sync.row.col.m16n16k16.f32.f32 {a}, {b}, {c}, {d};", "a", "b c d"),
    ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a, b}, x, y, p, 1, 1, 0, 0;", "a b", "a b x y p"),
    ("wgmma.wait_group.sync.aligned 0;", "", ""),
    ("multimem.ld_reduce.add.f32 a, [x];", "a", "x"),
    ("multimem.red.add.f32 [x], a;", "", "x a"),
    ("tex.1d.v2.f32.s32 {a, b}, [x, {c}];", "a b", "x c"),
    ("setmaxnreg.inc.sync.aligned.u32 64;", "", ""),
    ("call (a), fun, (b, c);", "a", "b c"),
    ("call (r0), fun, (p0);", "", ""),
    ("call (a), x, (b), proto;", "a", "x b"),
    ("membar.gl;", "", ""),
    ("ret;", "", ""),
]


def first(text):
    return next(
        item for item in parse(f".entry k() {{ {REGISTERS} {text} L: }}").functions["k"].body if hasattr(item, "opcode")
    )


@pytest.mark.parametrize("text, written, read", ROWS, ids=[row[0] for row in ROWS])
def test_destinations_and_sources(text, written, read):
    found = first(text)
    assert (" ".join(defs(found)), " ".join(uses(found))) == (written, read)
    assert not written or writes_first(found)


def live(text):
    cfg = build(parse(f".entry k() {{ {REGISTERS} {text} }}").functions["k"])
    found = liveness(cfg)
    return [" ".join(sorted(row)) for row in found.live_in], [" ".join(sorted(row)) for row in found.live_out]


def test_a_value_lives_to_its_last_use():
    live_in, live_out = live("mov.u32 a, 1; bra M; M: add.s32 b, a, 1; bra N; N: st.global.u32 [x], b; ret;")
    assert live_in == ["x", "a x", "b x"] and live_out == ["a x", "b x", ""]


def test_a_loop_keeps_what_its_next_round_reads():
    live_in, _ = live("mov.u32 a, 0; L: add.s32 a, a, b; setp.lt.s32 p, a, c; @p bra L; ret;")
    assert live_in == ["b c", "a b c", ""]


def test_a_guarded_write_ends_no_life():
    assert live("@p mov.u32 a, 1; st.global.u32 [x], a; ret;")[0] == ["a p x"]
    assert live("mov.u32 a, 1; st.global.u32 [x], a; ret;")[0] == ["x"]


def test_either_side_of_a_branch_keeps_a_value():
    live_in, live_out = live("@p bra L; mov.u32 a, 1; L: st.global.u32 [x], a; ret;")
    assert live_in == ["a p x", "x", "a x"] and live_out[0] == "a x"
