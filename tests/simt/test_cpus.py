"""Processors that a process may use: affinity, and quotas of nested control groups of either version."""

import os

import pytest

from simt import cpus

V1 = "cpu,cpuacct/job"  # version 1 has a tree for each controller


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A made-up tree of control groups on a machine of 64 processors; `member(row, folder=text…)` puts us into one."""
    monkeypatch.setattr(cpus, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(cpus, "MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))

    def member(row, files):
        (tmp_path / "membership").write_text(row)
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return member


@pytest.mark.parametrize(
    ("row", "files", "expected"),
    [
        ("0::/\n", {}, 64),
        ("0::/user/job\n", {"user/job/cpu.max": "max 100000\n"}, 64),
        ("0::/user/job\n", {"user/job/cpu.max": "800000 100000\n", "user/cpu.max": "300000 100000\n"}, 3),
        ("0::/user/job\n", {"user/job/cpu.max": "50000 100000\n"}, 1),
        ("4:cpu,cpuacct:/job\n", {f"{V1}/cpu.cfs_quota_us": "250000", f"{V1}/cpu.cfs_period_us": "100000"}, 2),
        ("4:cpu,cpuacct:/job\n", {f"{V1}/cpu.cfs_quota_us": "-1", f"{V1}/cpu.cfs_period_us": "100000"}, 64),
        ("7:memory:/job\n", {"memory/job/cpu.max": "100000 100000\n"}, 64),
        ("0::/job\n", {"job/cpu.max": "nonsense\n"}, 64),
    ],
    ids=["no group", "no limit", "outer group is tighter", "half a processor", "version 1", "version 1 unlimited",
         "another controller", "unreadable"],
)  # fmt: skip
def test_tightest_quota_counts(groups, row, files, expected):
    groups(row, files)
    assert cpus.available_cpus() == expected


def test_affinity_counts_at_every_call(groups, monkeypatch):
    groups("0::/\n", {})
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3})
    assert cpus.available_cpus() == 1


def test_machine_without_control_groups_has_its_affinity(groups):
    assert cpus.available_cpus() == 64
