"""For any inputs the compiled translation gives the bits of `eval`, lane by lane, as vectors and as scalars."""

import platform

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from simt.isa import FAMILIES
from simt.isa.op import Role
from tests.simt.isa.compiled import LANES, compiled
from tests.simt.isa.forms import pure, sampled
from tests.simt.isa.operands import edges, same_bits

PURE = [family for family in FAMILIES if any(row.role is Role.PURE for row in family.ROWS)]
# The engine leaves AVX-512 alone, and LLVM takes other ways without it.
CPU = "x86-64-v3" if platform.machine() in ("x86_64", "AMD64") else ""
POOL_BYTES = 5 * 16 * LANES


def sources_of(form, pool, choice):
    """(32,) sources: each lane an edge value of its type, or bytes of the pool."""
    raw = np.frombuffer(pool, np.uint8).reshape(5, LANES, 16)
    sources = []
    for index, type_ in enumerate(form.op.shape(form).sources):
        values = edges(type_)
        some = values[choice.integers(0, len(values), LANES)]
        if type_.bits == 1:
            other = raw[index, :, 0] % 2 == 1
        else:
            other = np.ascontiguousarray(raw[index, :, : type_.n_bytes]).view(type_.dtype)[:, 0]
        sources.append(np.where(choice.random(LANES) < 0.5, some, other))
    return tuple(sources)


def disagreements(machine, form, sources):
    """Texts of what differs from `eval`; empty when nothing does."""
    with np.errstate(all="ignore"):
        wanted = form.op.eval(form, *sources)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for kind in ("vector", "scalar"):
        for got, want, type_ in zip(machine(form, sources, kind), wanted, form.op.shape(form).results, strict=True):
            for lane in np.flatnonzero(~same_bits(got, want, type_))[:1]:
                values = [source[lane] for source in sources]
                yield f"{form.opcode} as {kind}: of {values} got {got[lane]!r}, eval says {want[lane]!r}"


def agree(forms, n_examples):
    machine = compiled(forms, cpu=CPU)

    @hypothesis.settings(max_examples=n_examples)
    @hypothesis.given(pool=st.binary(min_size=POOL_BYTES, max_size=POOL_BYTES), seed=st.integers(0, 2**32))
    def holds(pool, seed):
        choice = np.random.default_rng(seed)
        wrong = [text for form in forms for text in disagreements(machine, form, sources_of(form, pool, choice))]
        assert not wrong, "\n".join(wrong[:5])

    holds()


@pytest.mark.parametrize("family", PURE, ids=lambda family: family.__name__.rpartition(".")[2])
def test_translation_agrees_with_eval(family):
    agree(sampled(family), 5)


@pytest.mark.full
@pytest.mark.parametrize("family", PURE, ids=lambda family: family.__name__.rpartition(".")[2])
def test_every_translation_agrees_with_eval_on_many_inputs(family):
    agree(pure(family), 100)
