"""Where NVRTC and the CUDA headers are on this machine, found among the installed packages."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CompilerMissing", "Toolkit", "find_toolkit"]

PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl")
LIBRARY_PATTERNS = ("lib/libnvrtc.so.*", "lib64/libnvrtc.so.*", "bin/**/nvrtc64_*.dll")
BUILTINS_PATTERNS = ("libnvrtc-builtins.so.*", "nvrtc-builtins64_*.dll")
PRELUDE = Path(__file__).parent / "prelude"


class CompilerMissing(RuntimeError):
    """No NVRTC among the installed packages, or one that does not start; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Toolkit:
    """An installed NVRTC with its headers.

    Attributes:
        library: libnvrtc.
        builtins: the library that libnvrtc loads by name, None where it finds it alone.
        include_dirs: in search order: this package's prelude, CUDA's headers, CCCL.
        version: of the packages, `13.5.37`.
        digest: of the versions and the prelude: what a cached build depends on besides its source.
    """

    library: Path
    builtins: Path | None
    include_dirs: tuple[Path, ...]
    version: str
    digest: str


@functools.cache
def find_toolkit(major: int = 13) -> Toolkit:
    """The installed toolkit of CUDA `major`; for 13 any newer one too, the newest first.

    Raises:
        CompilerMissing: there is none.
    """
    for libraries, headers in _installations(major):
        for pattern in LIBRARY_PATTERNS:
            for library in sorted(libraries.glob(pattern)):
                return _toolkit(library, headers, "" if major >= 13 else f"-cu{major}")
    suffix = "" if major >= 13 else f"-cu{major}"
    wanted = " ".join(f'"{package}{suffix}>={major}"' for package in PACKAGES)
    raise CompilerMissing(
        f"no CUDA compiler (NVRTC {major}) is installed for this Python; next step: pip install {wanted} (Linux and "
        "Windows; there are no such packages for macOS). Kernels given as .ptx run without it. CuPy's own CUDA "
        "packages do not hold all that is needed."
    )


def _installations(major: int) -> Iterator[tuple[Path, tuple[Path, ...]]]:
    """(folder of the library, folders of headers) of each installation, newest first.

    From CUDA 13 on the packages share `nvidia/cu13`; before, each has a folder of its own below `nvidia`.
    """
    folders = [Path(entry) / "nvidia" for entry in sys.path]
    if major < 13:
        for folder in folders:
            parts = ("cuda_runtime", "cuda_nvcc", "cuda_cccl")
            yield folder / "cuda_nvrtc", tuple(folder / part / "include" for part in parts)
        return
    roots = [root for folder in folders for root in folder.glob("cu[0-9][0-9]") if root.name >= f"cu{major}"]
    for root in sorted(roots, key=lambda root: root.name, reverse=True):
        yield root, (root / "include", root / "include" / "cccl")


def _toolkit(library: Path, headers: tuple[Path, ...], suffix: str) -> Toolkit:
    builtins = next((path for pattern in BUILTINS_PATTERNS for path in sorted(library.parent.glob(pattern))), None)
    installed = _versions()
    versions = [installed.get(package + suffix) for package in PACKAGES]
    digest = hashlib.sha256("\n".join([library.name, *(version or "none" for version in versions)]).encode())
    for header in sorted(PRELUDE.iterdir()):
        if header.is_file():
            digest.update(header.name.encode() + b"\0" + header.read_bytes())
    existing = tuple(folder for folder in (PRELUDE, *headers) if folder.is_dir())
    return Toolkit(library, builtins, existing, versions[0] or library.name, digest.hexdigest())


def _versions() -> dict[str, str]:
    """Version of each installed package of NVIDIA's, by name.

    Read from the names of their folders, `nvidia_cuda_nvrtc-13.5.37.dist-info`, which the packaging standard
    (Recording installed projects) fixes: importing `importlib.metadata` takes longer than a launch.
    """
    found: dict[str, str] = {}
    for entry in sys.path:
        for folder in Path(entry).glob("nvidia_*.dist-info"):
            name, _, version = folder.name.removesuffix(".dist-info").partition("-")
            found.setdefault(name.replace("_", "-"), version)
    return found
