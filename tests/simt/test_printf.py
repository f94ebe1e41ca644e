"""Device printf: what is kept of it, and that neither a flood nor a monstrous format costs more than it should."""

import numpy as np
import pytest

from simt.events import Argument, Budget, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program


def printed(statement, block=1, **budget):
    source = f'extern "C" __global__ void k(int* y) {{ y[threadIdx.x] = 1; {statement} }}'
    arguments = [Argument("y", Direction.OUT, np.zeros(block, np.int32))]
    return Program.from_cuda(source).launch(LaunchConfig(Dim3(1), Dim3(block)), arguments, budget=Budget(**budget))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('"%d|%5.1f|%-4d|%.f", 7, 2.25, 3, 2.6', "7|  2.2|3   |3"),
        ('"%*d|%.*f|%.*d|%-*d", 4, 7, 1, 2.25, -1, 5, 3, 6', "   7|2.2|5|6  "),
        ('"%999999999d|", 1', " " * 1023 + "1|"),
        ('"%*d|", 2147483647, 1', " " * 1023 + "1|"),
        ('"%99999999999999999999d|", 1', " " * 1023 + "1|"),
        ('"%.2000000000f|", 1.0', "1." + "0" * 1024 + "|"),
    ],
)
def test_a_format_is_followed_up_to_a_width(arguments, text):
    assert printed(f"printf({arguments});").printed == text


def test_a_flood_keeps_its_head_and_ends_by_its_budget():
    result = printed(
        'for (int i = 0; i < 1000000; ++i) printf("line %d\\n", i);', 32, printf_bytes=4096, warp_instructions=1_000_000
    )
    assert result.status is Status.BUDGET
    assert result.printed.startswith("line 0\n") and result.printed.endswith("[more output was dropped]\n")
    assert len(result.printed) < 4096 and result.counters.instructions < 200_000


def test_a_line_of_every_thread_is_no_flood():
    result = printed('printf("%d\\n", threadIdx.x);', 1024, warp_instructions=100_000)
    assert result.status is Status.OK and result.printed.split() == [str(i) for i in range(1024)]
