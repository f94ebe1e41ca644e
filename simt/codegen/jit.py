"""LLVM set-up: the host's target machine and machine code in memory.

Machine code of the native runtime is kept on disk by digest of its IR, CPU and LLVM version; kernels are translated
each time, which takes less long than checking whether they changed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from pathlib import Path

from llvmlite import binding as llvm

__all__ = ["Code", "add_symbols", "compile_ir", "keep"]


@functools.cache
def _prepare() -> str:
    """Initialises LLVM once; answers with the name and features of this CPU."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return f"{llvm.get_host_cpu_name()} {_features()}"


def _features() -> str:
    """Host features without AVX-512: 512-bit code of 32-lane kernels was measured 20-37 % slower than AVX2 code."""
    features = llvm.get_host_cpu_features()
    for name in list(features):
        if name.startswith(("avx512", "avx10", "amx")):
            features[name] = False
    return features.flatten()


def _machine(level: int) -> llvm.TargetMachine:
    """A target machine of its own for each engine, which takes it over and frees it."""
    _prepare()
    cpu = llvm.get_host_cpu_name()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=_features(), opt=level, reloc="default", codemodel="jitdefault"
    )


class Code:
    """Machine code that lives as long as this object does."""

    def __init__(self, engine: llvm.ExecutionEngine):
        self._engine = engine

    def address(self, name: str) -> int:
        return self._engine.get_function_address(name)


def add_symbols(addresses: dict[str, int]) -> None:
    """Makes functions known by name to code compiled later."""
    _prepare()
    for name, address in addresses.items():
        llvm.add_symbol(name, address)


def compile_ir(text: str, *, level: int, optimise: bool = False, cache: Path | None = None) -> Code:
    """Machine code of an LLVM module's text.

    Args:
        text: LLVM IR.
        level: code generation effort, 0 to 3.
        optimise: run LLVM's IR passes of that level too.
        cache: folder that keeps the object file, or None.
    """
    machine = _machine(level)
    parts = (text, _prepare(), llvm.llvm_version_info, machine.target_data, level, optimise)
    key = hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()
    kept = cache / f"{key[:32]}.o" if cache is not None else None
    stored = kept.read_bytes() if kept is not None and kept.is_file() else b""
    module = llvm.parse_assembly("" if stored else text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)  # before any pass: without it i64 counts as 4-byte aligned
    if optimise and not stored:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        llvm.create_pass_builder(machine, options).getModulePassManager().run(
            module, llvm.create_pass_builder(machine, options)
        )
    engine = llvm.create_mcjit_compiler(module, machine)
    if kept is not None and not stored:
        engine.set_object_cache(lambda _, data: keep(kept, data), None)
    if stored:
        engine.add_object_file(llvm.ObjectFileRef.from_data(stored))
    engine.finalize_object()
    return Code(engine)


def keep(path: Path, data: bytes) -> None:
    """Writes whole or not at all; a cache that cannot be written is no cache."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        return
