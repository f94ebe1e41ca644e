"""Builds kept on disk: what makes a new one, damage, full disks, and what is dropped first."""

import os

import pytest

from simt.nvrtc import compile_cuda
from simt.nvrtc_cache import BuildCache

SAXPY = """extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


def without_time(result):
    return [getattr(result, name) for name in result.__slots__ if name not in ("seconds", "notes")]


@pytest.fixture
def cache(tmp_path):
    return BuildCache(tmp_path / "builds")


@pytest.fixture
def no_compiler(monkeypatch):
    """Makes every compilation fail the test: only the cache may answer."""

    def refuse():
        def fail(*_):
            raise AssertionError("compiled again")

        monkeypatch.setattr("simt.nvrtc._WARM.compile", fail)

    return refuse


@pytest.mark.parametrize("source", [SAXPY, SAXPY.replace("y[i]", "z[i]")], ids=["right", "wrong"])
def test_a_build_is_answered_from_the_cache(cache, no_compiler, source):
    first = compile_cuda(source, cache=cache)
    no_compiler()
    assert without_time(compile_cuda(source, cache=cache)) == without_time(first)


def test_everything_that_matters_changes_the_digest(cache, tmp_path):
    include = tmp_path / "include"
    include.mkdir()
    digests = [
        compile_cuda(source, cache=cache, **options).digest
        for source, options in [
            (SAXPY, {}),
            (SAXPY + "\n", {}),
            (SAXPY, {"arch": "sm_90"}),
            (SAXPY, {"options": ["-DX"]}),
            (SAXPY, {"want_cubin": False}),
            (SAXPY, {"file_name": "other.cu"}),
            (SAXPY, {"name_expressions": ["&saxpy"]}),
        ]
    ]
    (include / "a.h").write_text("1")
    digests.append(compile_cuda(SAXPY, cache=cache, include_dirs=[include]).digest)
    (include / "a.h").write_text("22")
    digests.append(compile_cuda(SAXPY, cache=cache, include_dirs=[include]).digest)
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:40] + b"x" + data[41:]]
)
def test_a_damaged_entry_is_compiled_again_and_rewritten(cache, damage, no_compiler):
    first = compile_cuda(SAXPY, cache=cache)
    (entry,) = cache.folder.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert without_time(compile_cuda(SAXPY, cache=cache)) == without_time(first)
    assert cache.load(entry.stem)


def test_a_folder_that_cannot_be_written_is_only_a_note(tmp_path):
    (tmp_path / "builds").write_text("a file where the folder should be")
    result = compile_cuda(SAXPY, cache=BuildCache(tmp_path / "builds"))
    assert result.ok
    assert len(result.notes) == 1 and "not cached" in result.notes[0]


def test_a_full_disk_is_only_a_note(cache, monkeypatch):
    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)
    result = compile_cuda(SAXPY, cache=cache)
    assert result.ok and "No space left" in result.notes[0]
    assert list(cache.folder.iterdir()) == []


def test_the_cache_drops_what_was_used_least_recently(tmp_path):
    cache = BuildCache(tmp_path, limit_bytes=3_500)
    for at, name in enumerate("abc"):
        cache.store(name, (bytes(1000),))
        os.utime(tmp_path / f"{name}.build", (at, at))
    assert cache.load("a")
    cache.store("d", (bytes(1000),))
    assert [name for name in "abcd" if cache.load(name)] == ["a", "c", "d"]


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPWISE_CACHE", str(tmp_path / "named"))
    assert BuildCache().folder == tmp_path / "named" / "builds"
    monkeypatch.delenv("WARPWISE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert BuildCache().folder == tmp_path / "xdg" / "warpwise" / "builds"
