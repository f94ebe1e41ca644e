"""Where NVRTC and the CUDA headers are on this machine, found among the installed packages."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CompilerMissing", "Toolkit", "find_toolkit"]

PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl")
LIBRARY_PATTERNS = ("lib/libnvrtc.so.*", "lib64/libnvrtc.so.*", "bin/**/nvrtc64_*.dll")
BUILTINS_PATTERNS = ("libnvrtc-builtins.so.*", "nvrtc-builtins64_*.dll")
PRELUDE = Path(__file__).parent / "prelude"


class CompilerMissing(RuntimeError):
    """No NVRTC among the installed packages; the message says how to get it, and what works without it."""


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
def find_toolkit() -> Toolkit:
    """The newest installed toolkit.

    Raises:
        CompilerMissing: there is none.
    """
    for root in _roots():
        for pattern in LIBRARY_PATTERNS:
            for library in sorted(root.glob(pattern)):
                return _toolkit(root, library)
    raise CompilerMissing(
        "no CUDA compiler (NVRTC 13) is installed for this Python; next step: pip install "
        + " ".join(f'"{package}>=13"' for package in PACKAGES)
        + " (Linux and Windows; there are no such packages for macOS). "
        "Kernels given as .ptx run without it. CuPy's own CUDA packages do not hold all that is needed."
    )


def _roots() -> list[Path]:
    """`nvidia/cu13`, `nvidia/cu14`… in every folder that Python imports from, newest first."""
    import importlib.util

    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = [root for folder in folders for root in Path(folder).glob("cu[0-9][0-9]")]
    return sorted((root for root in found if root.name >= "cu13"), key=lambda root: root.name, reverse=True)


def _toolkit(root: Path, library: Path) -> Toolkit:
    builtins = next((path for pattern in BUILTINS_PATTERNS for path in sorted(library.parent.glob(pattern))), None)
    folders = (PRELUDE, root / "include", root / "include" / "cccl")
    versions = [_version(package) for package in PACKAGES]
    version = versions[0] or library.name
    digest = hashlib.sha256("\n".join([library.name, *(v or "none" for v in versions)]).encode())
    for header in sorted(PRELUDE.iterdir()):
        if header.is_file():
            digest.update(header.name.encode() + b"\0" + header.read_bytes())
    existing = tuple(folder for folder in folders if folder.is_dir())
    return Toolkit(library, builtins, existing, version, digest.hexdigest())


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
