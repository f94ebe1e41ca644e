"""Rows of comparison, selection, moves and the conversions between integers, f32 and f64."""

from tests.simt.isa.rows import rows

LOW, HIGH = -2147483648, 2147483647
LOW64, HIGH64 = -9223372036854775808, 9223372036854775807
FLOATS = "f32 f64"


def on_floats(pattern: str) -> str:
    """The opcode for both float types."""
    return " ".join(pattern % type_ for type_ in FLOATS.split())


ROWS = (
    # integers: signed and unsigned order differ at the top bit
    *rows("setp.eq.s32 setp.eq.u32 setp.eq.b32", "1 1 = T", "1 2 = F"), *rows("setp.ne.b64", "1 1 = F", "1 2 = T"),
    *rows("setp.lt.s32", "-1 0 = T", "0 0 = F", f"{LOW} {HIGH} = T"), *rows("setp.lt.u32 setp.lo.u32", "-1 0 = F", "0 -1 = T"),
    *rows("setp.le.s32", "-1 -1 = T"), *rows("setp.gt.u32 setp.hi.u32", "-1 0 = T"), *rows("setp.ge.s64", f"{LOW64} 0 = F"),
    *rows("setp.ge.u64 setp.hs.u64", f"{LOW64} 0 = T"), *rows("setp.ls.u16", "-1 1 = F"), *rows("setp.gt.s16", "-1 1 = F"),
    # floats: ordered ones fail on NaN, unordered ones hold
    *rows(on_floats("setp.eq.%s"), "1 1 = T", "0 -0 = T", "nan nan = F", "nan 1 = F"),
    *rows(on_floats("setp.ne.%s"), "1 2 = T", "nan 1 = F", "nan nan = F"),
    *rows(on_floats("setp.lt.%s"), "1 2 = T", "2 1 = F", "nan 1 = F", "-inf inf = T"),
    *rows(on_floats("setp.le.%s"), "1 1 = T", "nan 1 = F"), *rows(on_floats("setp.gt.%s"), "2 1 = T", "1 nan = F"),
    *rows(on_floats("setp.ge.%s"), "1 1 = T", "1 nan = F"),
    *rows(on_floats("setp.equ.%s"), "1 1 = T", "nan 1 = T", "1 2 = F"), *rows(on_floats("setp.neu.%s"), "nan nan = T", "1 1 = F"),
    *rows(on_floats("setp.ltu.%s"), "nan 1 = T", "2 1 = F"), *rows(on_floats("setp.leu.%s"), "nan 1 = T", "2 1 = F"),
    *rows(on_floats("setp.gtu.%s"), "nan 1 = T", "1 2 = F"), *rows(on_floats("setp.geu.%s"), "nan 1 = T", "1 2 = F"),
    *rows(on_floats("setp.num.%s"), "1 2 = T", "nan 1 = F"), *rows(on_floats("setp.nan.%s"), "1 2 = F", "1 nan = T"),
    *rows("setp.eq.ftz.f32", "tiny 0 = T", "tiny -tiny = T"), *rows("setp.gt.f32", "tiny 0 = T"),
    *rows("setp.lt.s32.pair", "1 2 = T F", "2 1 = F T"), *rows("setp.lt.f32.pair", "nan 1 = F T"),
    *rows("setp.lt.and.s32", "1 2 T = T", "1 2 F = F"), *rows("setp.lt.or.s32", "2 1 T = T", "2 1 F = F"),
    *rows("setp.lt.xor.s32", "1 2 T = F", "2 1 T = T"), *rows("setp.lt.and.s32.pair", "1 2 T = T F", "2 1 T = F T", "2 1 F = F F"),
    *rows("set.lt.u32.s32", "1 2 = -1", "2 1 = 0"), *rows("set.eq.f32.f32", "1 1 = 1", "nan 1 = 0"),
    *rows("set.eq.and.s32.b32", "1 1 F = 0", "1 1 T = -1"), *rows("set.gtu.u32.f64", "nan 1 = -1"),
    # selection and moves
    *rows("selp.b32 selp.s32 selp.u32", "1 2 T = 1", "1 2 F = 2"), *rows("selp.f32", "1 2 T = 1"), *rows("selp.b64", "1 2 F = 2"),
    *rows("selp.f64", "1 2 F = 2"), *rows("selp.b16", "1 2 T = 1"),
    *rows("slct.s32.s32", "1 2 0 = 1", "1 2 -1 = 2"), *rows("slct.f32.f32", "1 2 0 = 1", "1 2 -1 = 2", "1 2 nan = 2", "1 2 -0 = 1"),
    *rows("slct.ftz.f32.f32", "1 2 -tiny = 1"), *rows("slct.b32.f32", "1 2 -tiny = 2"),
    *rows("mov.b32 mov.u32 mov.s32", "0 = 0", "-1 = -1"), *rows("mov.f32", "1 = 1", "-0 = -0"), *rows("mov.pred", "T = T"),
    *rows("mov.b64 mov.u64", f"{LOW64} = {LOW64}"), *rows("mov.f64", "-0 = -0"), *rows("mov.b16", "0x8000 = 0x8000"),
    *rows("mov.b32.pack2", "0x1111 0x2222 = 0x22221111"), *rows("mov.b64.pack2", "0x11111111 0x22222222 = 0x2222222211111111"),
    *rows("mov.b64.pack4", "1 2 3 4 = 0x0004000300020001"), *rows("mov.b32.pack4", "1 2 3 255 = 0xff030201"),
    *rows("mov.b32.unpack2", "0x22221111 = 0x1111 0x2222"), *rows("mov.b64.unpack2", "0x2222222211111111 = 0x11111111 0x22222222"),
    *rows("mov.b64.unpack4", "0x0004000300020001 = 1 2 3 4"), *rows("mov.b16.pack2", "1 255 = 0xff01"),
    *rows("createpolicy.fractional.L2::evict_last.b64", "1 = 0"),
    # integer to integer: cut, extend by the source's sign, or clamp
    *rows("cvt.s64.s32", "-1 = -1"), *rows("cvt.u64.u32", "-1 = 0xffffffff"), *rows("cvt.u32.u64", "0x100000001 = 1"),
    *rows("cvt.u16.u32", "0x12345 = 0x2345"), *rows("cvt.s32.s8", "-1 = -1"), *rows("cvt.s32.u8", "255 = 255"),
    *rows("cvt.u32.s16", "-1 = -1"), *rows("cvt.s8.s32", "384 = -128"),
    *rows("cvt.sat.u8.s32", "-1 = 0", "300 = 255", "7 = 7"), *rows("cvt.sat.s8.s32", "-300 = -128", "300 = 127"),
    *rows("cvt.sat.s32.u32", f"-1 = {HIGH}"), *rows("cvt.sat.u32.s64", "-1 = 0", "0x100000000 = -1"),
    # float to integer: rounded as told, clamped; NaN is 0, or the top bit when 64 bits are involved
    *rows("cvt.rzi.s32.f32", "1.5 = 1", "-1.5 = -1", "nan = 0", f"inf = {HIGH}", f"-inf = {LOW}", f"3e9 = {HIGH}", "-0 = 0",
          f"-3e9 = {LOW}", "tiny = 0"),
    *rows("cvt.rni.s32.f32", "0.5 = 0", "1.5 = 2", "2.5 = 2", "-0.5 = 0", "-1.5 = -2"),
    *rows("cvt.rmi.s32.f32", "1.5 = 1", "-1.5 = -2", "-tiny = -1"), *rows("cvt.rpi.s32.f32", "1.5 = 2", "-1.5 = -1", "tiny = 1"),
    *rows("cvt.rpi.ftz.s32.f32", "tiny = 0"), *rows("cvt.rzi.u32.f32", "-1 = 0", "3e9 = 3000000000", "inf = -1", "nan = 0"),
    *rows("cvt.rzi.u8.f32", "300 = 255", "-1 = 0"), *rows("cvt.rzi.s8.f32", "-300 = -128"), *rows("cvt.rzi.s16.f32", "1e6 = 32767"),
    *rows("cvt.rzi.s64.f32", f"nan = {LOW64}", f"inf = {HIGH64}", f"-inf = {LOW64}", "-1.5 = -1"),
    *rows("cvt.rzi.u64.f32", f"nan = {LOW64}", "inf = -1", "-1 = 0"),
    *rows("cvt.rzi.s32.f64", f"nan = {LOW}", f"1e10 = {HIGH}", "-1.9 = -1"), *rows("cvt.rni.s64.f64", f"nan = {LOW64}", "2.5 = 2"),
    *rows("cvt.rzi.u32.f64", f"nan = {LOW}", "-1 = 0", "4294967295.5 = -1"),
    # integer to float
    *rows("cvt.rn.f32.s32", "0 = 0", "-1 = -1", f"{HIGH} = 2147483648", "16777217 = 16777216", "16777219 = 16777220"),
    *rows("cvt.rz.f32.s32", f"{HIGH} = 0x4effffff", "-16777217 = -16777216"), *rows("cvt.rp.f32.s32", "16777217 = 16777218"),
    *rows("cvt.rm.f32.s32", "16777217 = 16777216", "0 = 0", "-16777217 = -16777218"),
    *rows("cvt.rn.f32.u32", "-1 = 4294967296"), *rows("cvt.rm.f32.u32", "-1 = 0x4f7fffff", "0 = 0"),
    *rows("cvt.rn.f32.u64", "-1 = 0x5f800000", "0x8000008000000000 = 0x5f000000", "0x8000008000000001 = 0x5f000001"),
    *rows("cvt.rz.f32.s64", f"{HIGH64} = 0x5effffff"), *rows("cvt.rm.f32.u64", "-1 = 0x5f7fffff", "0 = 0"),
    *rows("cvt.rn.f64.s32", f"{LOW} = -2147483648"), *rows("cvt.rn.f64.u32", "-1 = 4294967295"),
    *rows("cvt.rn.f64.s64", f"{HIGH64} = 9223372036854775808"), *rows("cvt.rz.f64.u64", "-1 = 0x43efffffffffffff"),
    *rows("cvt.rn.f32.s8", "-128 = -128"), *rows("cvt.rn.f32.u16", "-1 = 65535"),
    # float to float
    *rows("cvt.rn.f32.f64", "1 = 1", "1e300 = inf", "0x3ff0000010000000 = 1", "0x3ff0000010000001 = 0x3f800001", "tiny = 0",
          "nan = nan", "-0 = -0"),
    *rows("cvt.rz.f32.f64", "1e300 = max", "0x3ff000001fffffff = 1"), *rows("cvt.rp.f32.f64", "tiny = tiny", "-tiny = -0"),
    *rows("cvt.rm.f32.f64", "tiny = 0", "-tiny = -tiny"), *rows("cvt.rn.ftz.f32.f64", "1e-40 = 0"),
    *rows("cvt.f64.f32", "1 = 1", "tiny = 1.401298464324817e-45", "inf = inf"), *rows("cvt.ftz.f64.f32", "-tiny = -0"),
    *rows("cvt.rni.f32.f32", "0.5 = 0", "1.5 = 2", "-0.5 = -0", "max = max", "inf = inf"),
    *rows("cvt.rzi.f32.f32", "-1.5 = -1", "-0.5 = -0"), *rows("cvt.rmi.f32.f32", "-0.5 = -1", "0.5 = 0"),
    *rows("cvt.rpi.f32.f32", "0.5 = 1", "-0.5 = -0"), *rows("cvt.rmi.f64.f64", "-1.5 = -2"), *rows("cvt.rpi.f64.f64", "1.5 = 2"),
    *rows("cvt.sat.f32.f32", "2 = 1", "-1 = 0", "nan = 0", "0.5 = 0.5", "-0 = 0"), *rows("cvt.sat.f64.f64", "2 = 1", "nan = 0"),
)  # fmt: skip
