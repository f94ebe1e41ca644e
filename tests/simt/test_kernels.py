"""Golden kernels: each `kernels/<area>/<name>.cu` runs as its `.toml` says and gives exactly the report in its `.out`.

After a change that is meant to change reports, write them anew and read the difference:

    python -m tests.simt.test_kernels --update [AREA/NAME …]
"""

import sys
from pathlib import Path

import pytest

KERNELS = Path(__file__).parent / "kernels"
NAMES = sorted(path.relative_to(KERNELS).with_suffix("").as_posix() for path in KERNELS.rglob("*.cu"))


def report_of(name):
    """The full report of a golden kernel without its times."""
    from simt.cli_report import report_text
    from simt.cli_run import run_files

    path = KERNELS / name
    report = run_files(path.with_suffix(".cu"), path.with_suffix(".toml"))
    return f"exit status {report.exit_status}\n" + report_text(report, {}, with_times=False)


@pytest.mark.parametrize("name", NAMES)
def test_report_is_the_golden_one(name):
    assert report_of(name) == (KERNELS / name).with_suffix(".out").read_text(encoding="utf-8")


def test_every_file_is_part_of_a_kernel():
    parts = [path.with_suffix("") for path in KERNELS.rglob("*") if path.suffix in {".toml", ".out"}]
    assert sorted(parts) == sorted(2 * [KERNELS / name for name in NAMES])


def test_every_area_of_the_machine_has_a_kernel():
    areas = {name.partition("/")[0] for name in NAMES}
    wanted = "memory shared divergence barrier shuffle vote atomics local constant calls printf assert f16 f64 int64"
    assert set(wanted.split()) <= areas


if __name__ == "__main__":
    if sys.argv[1:2] != ["--update"]:
        sys.exit(__doc__)
    for chosen in sys.argv[2:] or NAMES:
        (KERNELS / chosen).with_suffix(".out").write_text(report_of(chosen), encoding="utf-8")
