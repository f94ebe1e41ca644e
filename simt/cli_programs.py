"""A kernel file and a launch file → programs and values of constants, for every command that launches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from simt.launch_file import LaunchFile, LaunchFileError, LaunchSpec
from simt.program import Program

__all__ = ["KernelUnreadable", "constants_of", "program_of", "read_kernel"]

NO_KERNELS = {".py", ".ipynb", ".toml", ".json", ".npy"}  # files that stand beside kernels and are given by mistake


class KernelUnreadable(ValueError):
    """A kernel's file that is not there, or is something else; `help` is the next step."""

    def __init__(self, kernel: Path, reason: str):
        super().__init__(f"cannot read the kernel {kernel}: {reason}")
        self.help = f"give the path of a .cu or .ptx file, as seen from {Path.cwd()}"


def read_kernel(kernel: Path) -> str:
    """The text of a kernel's file; raises `KernelUnreadable`."""
    if kernel.suffix in NO_KERNELS and kernel.exists():
        raise KernelUnreadable(kernel, f"a {kernel.suffix} file holds no CUDA C++ or PTX")
    try:
        return kernel.read_text(encoding="utf-8")
    except OSError as error:
        raise KernelUnreadable(kernel, error.strerror or "it cannot be opened") from None
    except UnicodeDecodeError:
        raise KernelUnreadable(kernel, "it is not UTF-8 text") from None


def program_of(kernel: Path, source: str, file: LaunchFile, arch: str, spec: LaunchSpec) -> Program:
    """The program of one launch; raises `BuildFailed`.

    Args:
        kernel: the file's path, .cu or .ptx.
        source: its text.
    """
    if kernel.suffix == ".ptx":
        program = Program.from_ptx(source, kernel=spec.kernel, arch=arch)
        texts = [Path(path).name for path in program.module.files.values() if path.endswith(".cu")]
        return replace(program, file_name=texts[0]) if texts else program
    return Program.from_cuda(
        source, kernel=None if spec.name_expression else spec.kernel, arch=arch, name_expression=spec.name_expression,
        options=file.options, file_name=kernel.name, include_dirs=_folders(kernel, source, file),
    )  # fmt: skip


def _folders(kernel: Path, source: str, file: LaunchFile) -> tuple[Path, ...]:
    """The file's folders, and the kernel's own when the text includes a file that lies there."""
    here = kernel.parent
    quoted = re.findall(r'^\s*#\s*include\s*"([^"\n]+)"', source, re.MULTILINE)
    own = (here,) if any((here / name).is_file() for name in quoted) else ()
    return (*own, *file.include_dirs)


def constants_of(program: Program, given: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    """Bytes for the module's constants; raises `LaunchFileError` for one that is not there or of another size."""
    known = {name: v for name, v in program.module.variables.items() if v.space in ("const", "global")}
    found = {}
    for name, array in given.items():
        if name not in known and re.search(rf"\b{re.escape(name)}\b", program.ptx):
            continue  # another kernel of the text uses it
        if name not in known:
            listed = ", ".join(sorted(known)) or "none that this kernel uses"
            raise LaunchFileError(f"[constants] `{name}`: the program has no such variable", f"it has {listed}")
        raw = array.tobytes()
        if len(raw) != known[name].n_bytes:
            raise LaunchFileError(
                f"[constants] `{name}` has {known[name].n_bytes} bytes, the launch file gives {len(raw)} ({array.dtype} "
                f"{array.shape})",
                f'name the type: {name} = {{ dtype = "…", value = […] }}',
            )
        found[name] = raw
    return found
