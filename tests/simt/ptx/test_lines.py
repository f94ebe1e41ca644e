"""Source lines through chains of inlining."""

from pathlib import Path

import pytest

from simt.ptx.lines import frames, student_line
from simt.ptx.parser import parse
from simt.ptx.syntax import Location

DATA = Path(__file__).parent / "data"
TAIL = """
.file 1 "kernel.cu"
.file 2 "include/helper.h"
.section .debug_str
{
$L__info_string0:
.b8 95,90,52,119,97,105,116,106,105,0
$L__info_string1:
.b8 102
.b8 103,0
}
"""


def locations(body):
    module = parse(f".entry k() {{ {body} ret; }} {TAIL}")
    return module, [item.location for item in module.functions["k"].body]


def test_the_chain_leads_from_a_header_to_the_students_call():
    module, (found,) = locations(
        """
        .loc 1 9 2
        .loc 2 50 1, function_name $L__info_string0, inlined_at 1 9 2
        .loc 2 70 3, function_name $L__info_string1+1, inlined_at 2 50 1
        """
    )
    assert [(place.file, place.line, place.column, place.function) for place in frames(found)] == [
        (2, 70, 3, "g"),
        (2, 50, 1, "_Z4waitji"),
        (1, 9, 2, None),
    ]
    assert student_line(found, module) == 9


def test_the_innermost_place_in_the_students_file_wins():
    module, (found,) = locations(
        """
        .loc 1 30 2
        .loc 1 4 5, function_name $L__info_string0, inlined_at 1 30 2
        .loc 2 70 3, function_name $L__info_string1, inlined_at 1 4 5
        """
    )
    assert student_line(found, module) == 4 and len(frames(found)) == 3


def test_a_site_is_the_latest_one_of_that_place():
    _, found = locations(
        """
        .loc 1 10 2
        .loc 2 50 1, function_name $L__info_string0, inlined_at 1 10 2
        .loc 2 70 3, function_name $L__info_string1, inlined_at 2 50 1
        membar.gl;
        .loc 1 20 2
        .loc 2 50 1, function_name $L__info_string0, inlined_at 1 20 2
        .loc 2 70 3, function_name $L__info_string1, inlined_at 2 50 1
        """
    )
    assert [frames(place)[-1].line for place in found] == [10, 20]


def test_recursion_inlined_into_itself_keeps_a_finite_chain():
    step = ".loc 1 5 1, function_name $L__info_string0, inlined_at 1 5 1\n"
    _, (found,) = locations(".loc 1 5 1\n" + step * 1000)
    assert len(frames(found)) == 2
    body = "".join(f".loc 1 {line + 1} 0, function_name x, inlined_at 1 {line} 0\n" for line in range(1000))
    _, (found,) = locations(body)
    assert len(frames(found)) < 256 and hash(found)


@pytest.mark.parametrize(
    "location, line",
    [
        (None, None),
        (Location(2, 5, 1), None),
        (Location(9, 5, 1), None),
        (Location(1, 0, 0), None),
        (Location(1, 0, 0, "f", Location(1, 7, 1)), 7),
        (Location(1, 5, 1), 5),
    ],
)
def test_places_without_a_students_line(location, line):
    module, _ = locations("")
    assert student_line(location, module) == line


def test_another_file_may_be_the_students():
    module, _ = locations("")
    assert student_line(Location(2, 5, 1), module, "helper.h") == 5
    assert student_line(Location(2, 5, 1), module, "elper.h") is None


def student_lines(name, opcode):
    module = parse((DATA / f"{name}.ptx").read_text())
    return [
        student_line(item.location, module)
        for item in module.functions["k"].body
        if getattr(item, "opcode", "").startswith(opcode)
    ]


def test_lines_of_compiled_templates_and_headers():
    source = (DATA / "lines.cu").read_text().splitlines()
    assert source[student_lines("lines", "mul.f32")[-1] - 1].strip() == "return x * x;"
    assert source[student_lines("lines", "add.f16")[0] - 1].strip().startswith("o[i + n] = __half2float")
    assert [source[line - 1].strip() for line in student_lines("lines", "st.global")] == [
        "o[i] = power<2>(o[i]);",
        "o[i + n] = __half2float(__hadd(h[i], h[i + 1]));",
        "o[i + 2 * n] = square(",
    ]


def test_every_line_of_a_cooperative_kernel_is_the_students():
    module = parse((DATA / "barrier.ptx").read_text())
    body = [item for item in module.functions["k"].body if hasattr(item, "location")]
    lines = {student_line(item.location, module) for item in body} - {None}
    n_lines = len((DATA / "barrier.cu").read_text().splitlines())
    assert lines and lines <= set(range(1, n_lines + 1))
    headers = [item for item in body if len(frames(item.location)) > 3]
    assert headers and all(student_line(item.location, module) for item in headers)
