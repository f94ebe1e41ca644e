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


FILL = "for (int i = 0; i < 3; ++i) word[i] = 'a' + i + threadIdx.x; word[3] = 0;"
CHANGE = "word[0] = y[threadIdx.x] + 'x';"
OWN, SHARED = "char word[4];", "__shared__ char words[2][4]; char* word = words[threadIdx.x];"


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        (f'{OWN} {FILL} printf("%d %s\\n", 7, word);', ["7 abc", "7 bcd"]),
        (f'{SHARED} {FILL} printf("%s!\\n", word);', ["abc!", "bcd!"]),
        (f'{OWN} {FILL} printf(word); printf("\\n");', ["abc", "bcd"]),
        (f'{OWN} {FILL} printf("%s\\n", word); {CHANGE} printf("%s\\n", word);', ["abc", "ybc", "bcd", "ycd"]),
    ],
)
def test_a_string_is_printed_as_it_stood_in_memory_that_a_block_owns(statement, lines):
    assert printed(statement, 2).printed.splitlines() == lines


def test_a_string_outside_all_memory_is_empty():
    assert printed('printf("<%s>", (const char*)0x20012345678ull); printf("<%s>", (const char*)8);').printed == "<><>"
