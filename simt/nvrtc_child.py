"""The compile server's own process: NVRTC by ctypes, one job at a time.

Run as a script, never imported by the parent. NVRTC can crash, loop or eat memory on a hostile or merely misspelt
source, so it lives here, inside the sandbox, and knows nothing but bytes in and bytes out.

A job is (JSON header, source); the answer is (JSON header, log, PTX, cubin). What they mean is in `simt.nvrtc`.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p

SIMT_PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, SIMT_PARENT)

from simt.sandbox import Limits, Message, confine, extend_cpu_limit, serve  # noqa: E402
from simt.sandbox_fork import serve_forks  # noqa: E402

WARM_UP = b'extern "C" __global__ void warm_up(float* x) { x[threadIdx.x] *= 2.0f; }'
LOG_HEAD, LOG_TAIL = 64 * 1024, 256 * 1024  # errors come first, the assembler's resource lines last


class Nvrtc:
    """The few functions of libnvrtc that compiling needs."""

    SIGNATURES = {
        "nvrtcCreateProgram": (POINTER(c_void_p), c_char_p, c_char_p, c_int, c_void_p, c_void_p),
        "nvrtcDestroyProgram": (POINTER(c_void_p),),
        "nvrtcAddNameExpression": (c_void_p, c_char_p),
        "nvrtcCompileProgram": (c_void_p, c_int, POINTER(c_char_p)),
        "nvrtcGetLoweredName": (c_void_p, c_char_p, POINTER(c_char_p)),
        "nvrtcVersion": (POINTER(c_int), POINTER(c_int)),
    } | {
        f"nvrtcGet{what}": arguments
        for name in ("PTX", "CUBIN", "ProgramLog")
        for what, arguments in ((name, (c_void_p, c_void_p)), (name + "Size", (c_void_p, POINTER(c_size_t))))
    }

    def __init__(self, library: str, builtins: str | None):
        if builtins:
            # Wheels of NVRTC 13.0 cannot find their own second library.
            ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
        self._library = ctypes.CDLL(library)
        for name, arguments in self.SIGNATURES.items():
            getattr(self._library, name).argtypes = arguments

    def call(self, name: str, *arguments: object) -> int:
        """The result code of one NVRTC function, 0 on success."""
        return getattr(self._library, name)(*arguments)

    def version(self) -> tuple[int, int]:
        """(major, minor) of the loaded library."""
        major, minor = c_int(), c_int()
        self.call("nvrtcVersion", byref(major), byref(minor))
        return major.value, minor.value

    def blob(self, program: c_void_p, what: str) -> bytes:
        """PTX, CUBIN or ProgramLog of a program; empty where there is none."""
        size = c_size_t()
        if self.call(f"nvrtcGet{what}Size", program, byref(size)) or not size.value:
            return b""
        buffer = ctypes.create_string_buffer(size.value)
        return b"" if self.call(f"nvrtcGet{what}", program, buffer) else buffer.raw

    def compile(self, source: bytes, file_name: str, options: list[str], names: list[str]) -> Message:
        """The answer to one job."""
        program = c_void_p()
        code = self.call("nvrtcCreateProgram", byref(program), source, file_name.encode(), 0, None, None)
        if code:
            return _answer(code, {}, b"", b"", b"")
        try:
            for name in names:
                self.call("nvrtcAddNameExpression", program, name.encode())
            values = (c_char_p * len(options))(*(option.encode() for option in options))
            code = self.call("nvrtcCompileProgram", program, len(options), values)
            lowered = {} if code else {name: self._lowered(program, name) for name in names}
            blobs = [self.blob(program, what) for what in ("ProgramLog", "PTX", "CUBIN")]
        finally:
            self.call("nvrtcDestroyProgram", byref(program))
        return _answer(code, lowered, *blobs)

    def _lowered(self, program: c_void_p, name: str) -> str:
        text = c_char_p()
        self.call("nvrtcGetLoweredName", program, name.encode(), byref(text))
        return (text.value or b"").decode()


def _answer(code: int, names: dict[str, str], log: bytes, ptx: bytes, cubin: bytes) -> Message:
    log, ptx = log.rstrip(b"\0"), ptx.rstrip(b"\0")
    if len(log) > LOG_HEAD + LOG_TAIL:
        log = log[:LOG_HEAD] + b"\n...\n" + log[-LOG_TAIL:]
    return json.dumps({"code": code, "names": names}).encode(), log, ptx, cubin


def main() -> None:
    """Serves jobs as the JSON in argv[1] says: library, builtins, limits, readable folders.

    Without limits it is a fork server: each fork is told its own, and finds the compiler loaded.
    """
    setup = json.loads(sys.argv[1])
    if "limits" in setup:
        _serve(setup, lambda: _loaded(setup))
    else:
        nvrtc = _loaded(setup)
        serve_forks(lambda own: _serve(own, lambda: nvrtc))


def _loaded(setup: dict) -> Nvrtc:
    """The compiler with its second library loaded and its tables filled, while files are still within reach."""
    nvrtc = Nvrtc(setup["library"], setup["builtins"])
    nvrtc.compile(WARM_UP, "warm_up.cu", ["-arch=sm_80", "-lineinfo"], [])
    return nvrtc


def _serve(setup: dict, load: Callable[[], Nvrtc]) -> None:
    limits = Limits(**setup["limits"])
    nvrtc: Nvrtc

    def hello() -> Message:
        nonlocal nvrtc
        nvrtc = load()
        applied = confine(limits, setup["readable"])
        return (json.dumps({"version": nvrtc.version(), "layers": applied}).encode(),)

    def answer(job: Message) -> Message:
        header = json.loads(job[0])
        extend_cpu_limit(limits)
        return nvrtc.compile(job[1], header["file_name"], header["options"], header["names"])

    serve(answer, hello)


if __name__ == "__main__":
    main()
