"""A hand-made launch for tests of the memory paths: buffers, one thread, blocks of warps, and the native functions."""

import ctypes
import functools

import numpy as np

from simt.codegen.jit import compile_ir
from simt.engine import atomics, memory
from simt.engine.findings import CHECKS
from simt.engine.native_compiler import build_module
from simt.engine.races import RACE_WORD_BYTES, READ_LOG_BYTES, SHARED_RACE_WORD_BYTES, fence
from simt.engine.state import (
    GLOBAL_BASE,
    Access,
    Block,
    CheckBit,
    Finding,
    Launch,
    Scope,
    Segment,
    SegmentFlag,
    Site,
    Thread,
    Warp,
)

GUARD = 1 << 20
ALL = 0xFFFFFFFF
CHECKED = CheckBit.MEMCHECK | CheckBit.INITCHECK | CheckBit.COVERAGE


@functools.cache
def code(*functions):
    """Machine code of native functions and of what they call."""
    return compile_ir(str(build_module(functions)), level=2, optimise=True)


def pointer(array):
    return array.ctypes.data


class Machine:
    """Buffers by name, `blocks` × `warps` warps and as many sites as were asked for."""

    def __init__(self, *, checks=CHECKED, shared_bytes=4096, local_bytes=64, blocks=1, warps=1, findings=64):
        self.launch = Launch.structure()()
        self.launch.threads_per_block = 32 * warps
        self.launch.warps_per_block = warps
        self.launch.checks = checks
        self.launch.shared_bytes = shared_bytes
        self.launch.local_bytes = local_bytes
        self.launch.block[:] = [32 * warps, 1, 1]
        self.launch.grid[:] = [blocks, 1, 1]
        self.kept, self.segments, self.sites = [], {}, []
        self.findings = (Finding.structure() * findings)()
        self.thread = Thread.structure()()
        self.thread.launch = ctypes.addressof(self.launch)
        self.thread.findings = ctypes.addressof(self.findings)
        self.thread.max_findings = findings
        self.next_base = GLOBAL_BASE
        self.blocks = [self._block(index, warps) for index in range(blocks)]

    def _block(self, index, warps):
        block = Block.structure()()
        self.warp_records = (Warp.structure() * warps)()
        self.shared = np.full(self.launch.shared_bytes + 4, 0xFF, np.uint8)
        self.shared_words = np.zeros(len(self.shared) // 4, np.uint8)
        self.local = np.full(warps * 32 * self.launch.local_bytes + 4, 0xFF, np.uint8)
        self.local_words = np.zeros(warps * 32 * ((self.launch.local_bytes + 3) // 4) + 4, np.uint8)
        block.launch, block.thread = ctypes.addressof(self.launch), ctypes.addressof(self.thread)
        block.warps, block.n_warps = ctypes.addressof(self.warp_records), warps
        block.shared, block.shared_words = pointer(self.shared), pointer(self.shared_words)
        block.local, block.local_words = pointer(self.local), pointer(self.local_words)
        self.shared_races = np.zeros((self.launch.shared_bytes // 4 + 16) * SHARED_RACE_WORD_BYTES, np.uint8)
        block.shared_races = pointer(self.shared_races)
        self.read_log = np.zeros(READ_LOG_BYTES, np.uint8)
        block.read_log = pointer(self.read_log)
        block.linear = block.x = index
        block.epoch = 1
        for number, warp in enumerate(self.warp_records):
            warp.block, warp.thread = ctypes.addressof(block), ctypes.addressof(self.thread)
            warp.index, warp.full, warp.alive = number, ALL, ALL
        self.kept += [
            self.shared_races,
            self.warp_records,
            self.shared,
            self.shared_words,
            self.local,
            self.local_words,
        ]
        block.records = self.warp_records
        return block

    def buffer(self, name, array, flags=SegmentFlag.WRITABLE):
        """Adds a buffer; answers with its virtual address."""
        segment = Segment.structure()()
        words = np.zeros((array.nbytes + 3) // 4 + 8, np.uint8)
        segment.base, segment.n_bytes, segment.host = self.next_base, array.nbytes, pointer(array)
        segment.words, segment.flags, segment.index = pointer(words), flags, len(self.segments)
        self.next_base += (array.nbytes + 255) // 256 * 256 + GUARD
        self.segments[name] = (segment, words)
        races = np.zeros(max(len(words), 1) * RACE_WORD_BYTES, np.uint8)
        segment.races = pointer(races)
        self.kept += [array, races]
        table = (Segment.structure() * len(self.segments))(*[s for s, _ in self.segments.values()])
        self.launch.segments, self.launch.n_segments = ctypes.addressof(table), len(table)
        self.kept.append(table)
        return segment.base

    def words(self, name):
        return self.segments[name][1]

    def site(self, scope=Scope.GLOBAL, access=Access.LOAD, size=4, elements=1, line=1, flags=0):
        site = Site.structure()()
        site.scope, site.access, site.element_bytes, site.n_elements = scope, access, size, elements
        site.flags, site.line, site.index = flags, line, len(self.sites)
        self.sites.append(site)
        return site

    def warp(self, index=0, block=0):
        return self.blocks[block].records[index]

    def load(self, site, addresses, mask=ALL, warp=None, fill=0xAB):
        out = np.full(32 * site.n_elements * site.element_bytes, fill, np.uint8)
        self.call(memory.load, warp, site, mask, np.asarray(addresses).astype(np.uint64), out)
        return out.reshape(site.n_elements, 32, site.element_bytes)

    def load_uniform(self, site, address, mask=ALL, warp=None):
        out = np.full(site.n_elements * site.element_bytes, 0xAB, np.uint8)
        run = native_code().address("load_uniform")
        kind = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
        )
        warp = self.warp() if warp is None else warp
        kind(run)(ctypes.addressof(warp), ctypes.addressof(site), mask, int(address), pointer(out))
        return out.reshape(site.n_elements, site.element_bytes)

    def store(self, site, addresses, data, mask=ALL, warp=None):
        data = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        assert data.size == 32 * site.n_elements * site.element_bytes
        self.call(memory.store, warp, site, mask, np.asarray(addresses).astype(np.uint64), data)

    def atomic(self, site, addresses, operand, compare=None, mask=ALL, warp=None):
        operand = np.ascontiguousarray(operand)
        compare = np.zeros_like(operand) if compare is None else np.ascontiguousarray(compare)
        out = np.full_like(operand, 0)
        run = native_code().address("atomic")
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_uint32, *[ctypes.c_void_p] * 4)
        warp = self.warp() if warp is None else warp
        addresses = np.asarray(addresses).astype(np.uint64)
        kind(run)(
            ctypes.addressof(warp), ctypes.addressof(site), mask, *map(pointer, (addresses, operand, compare, out))
        )
        return out

    def call(self, function, warp, site, mask, addresses, data):
        run = native_code().address(function.name)
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_uint32, *[ctypes.c_void_p] * 2)
        warp = self.warp() if warp is None else warp
        kind(run)(ctypes.addressof(warp), ctypes.addressof(site), mask, pointer(addresses), pointer(data))

    def found(self):
        """(check, site, also site, lanes) of every finding."""
        records = self.findings[: self.thread.n_findings]
        return [(CHECKS[f.check], f.site, f.also_site, f.lanes) for f in records]


def native_code():
    return code(memory.load, memory.store, memory.load_uniform, atomics.atomic, fence)
