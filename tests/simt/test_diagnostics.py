"""Every code of the catalogue has a kernel that raises it and one that does not, and a page that shows both."""

import pytest

from grader.worker.host import WorkerDevice
from simt.diagnostics import CATALOGUE, Severity
from tests.simt.diagnostic_pairs import PAGE, found_by, page, pairs

PAIRS = pairs()


@pytest.fixture(scope="module")
def device():
    worker = WorkerDevice("simulator")
    yield worker
    worker.close()


def test_every_code_has_its_pair():
    codes = {row.code for row in CATALOGUE.values()}
    assert len(codes) == len(CATALOGUE), "a code stands for one check"
    missing = sorted(codes - PAIRS.keys())
    assert not missing, f"no tests/simt/diagnostics/CODE.toml for {', '.join(missing)}"
    assert not sorted(PAIRS.keys() - codes), "kernels for codes that are gone"
    assert all(CATALOGUE[pair.check].code == code for code, pair in PAIRS.items())


@pytest.mark.parametrize("code", PAIRS)
def test_the_wrong_kernel_raises_it(code, device):
    found = found_by(PAIRS[code], "wrong", device)
    assert PAIRS[code].check in [row.check for row in found], found
    assert all(row.severity is CATALOGUE[row.check].severity for row in found)


@pytest.mark.parametrize("code", PAIRS)
def test_the_right_kernel_raises_no_error_and_not_this(code, device):
    found = found_by(PAIRS[code], "right", device)
    assert not [row for row in found if row.check == PAIRS[code].check or row.severity == Severity.ERROR], found


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.simt.diagnostic_pairs"
