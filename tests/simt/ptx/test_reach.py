"""What a kernel uses of its module."""

import pytest

from simt.ptx.parser import parse
from simt.ptx.reach import reachable, symbols

MODULE = parse(
    """
    .extern .func (.param .b32 r) vprintf(.param .b64 a);
    .global .u64 table[2] = {leaf, generic(deep)+8};
    .global .u32 deep;
    .const .f32 unused;
    .extern .shared .b8 dyn[];
    .func leaf() { .reg .b32 a; mov.u32 a, dyn; ret; }
    .func other() { ret; }
    .func caller() { .reg .b64 a; .local .b8 deep2[4]; mov.u64 a, table+8; mov.u64 a, deep2; ret; }
    .entry k(.param .u64 p) {
        .reg .b64 a; .param .b64 other;
        ld.param.u64 a, [p]; call caller; call vprintf, (p); call ghost; bra L; L: st.param.b64 [other], a; ret;
    }
    .entry plain() { ret; }
    """
)


def test_calls_addresses_and_initialisers_are_followed():
    found = reachable(MODULE, "k")
    assert found.functions == ("vprintf", "leaf", "caller", "k")
    assert found.variables == ("table", "deep", "dyn")
    assert found.undefined == ("ghost", "vprintf")


def test_a_kernel_may_use_nothing():
    found = reachable(MODULE, "plain")
    assert (found.functions, found.variables, found.undefined) == (("plain",), (), ())


def test_own_names_hide_the_modules():
    # `other` is a parameter variable of k, not the function.
    assert "other" in symbols(MODULE.functions["k"]) and "other" not in reachable(MODULE, "k").functions


def test_an_unknown_kernel_is_an_error():
    with pytest.raises(KeyError):
        reachable(MODULE, "nothing")
