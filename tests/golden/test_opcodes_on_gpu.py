"""The instruction table against the GPU of this machine, whichever it is."""

import pytest

from tests.golden.replay import cases, disagreements, pure_forms

NAMES = sorted({form.op.name for form in pure_forms()} - {"createpolicy"})


@pytest.fixture(scope="module")
def capability():
    import cupy

    return int(cupy.cuda.Device().compute_capability)


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_the_table_gives_what_this_gpu_gives(name, capability):
    from tests.golden.gpu_replay import replayed

    chosen = list(cases((form for form in pure_forms() if form.op.name == name), capability))
    wrong = [text for pair in replayed(chosen, f"sm_{capability}") for text in disagreements(*pair)]
    assert chosen and not wrong, f"{len(wrong)} cases of {len(chosen)}:\n" + "\n".join(wrong[:10])
