"""The line on which a kernel declares the order of a wmma operand."""

from grader.fragment_lines import fragment_line

KERNEL = """wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
wmma::fragment<wmma::matrix_b, 16, 16, 16, half,
               wmma::col_major> fb;
wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
"""


def test_operand_is_found_where_its_declaration_starts():
    assert (fragment_line(KERNEL, "a"), fragment_line(KERNEL, "b")) == (1, 2)


def test_several_fragments_have_no_one_line():
    assert fragment_line(KERNEL + KERNEL, "b") is None


def test_kernel_without_fragments_has_none():
    assert fragment_line("c[i] = a[i] * b[i];", "a") is None
