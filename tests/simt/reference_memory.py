"""Memory of the reference interpreter: spaces, requests and what they cost, in plain NumPy.

Written from the rules, not from the engine: buffers stand in a dict of arrays at addresses of their own, and costs are
counted with sets. An access outside every buffer, or misaligned, reads 0xFF bytes and writes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

__all__ = ["LOCAL_BASE", "PARAM_BASE", "SHARED_BASE", "Memory", "lanes_of"]

# Generic addresses; none of them is the engine's.
SHARED_BASE, LOCAL_BASE, PARAM_BASE, GLOBAL_BASE = 1 << 45, 1 << 46, 1 << 47, 1 << 52
WINDOW = 1 << 32
STEP = 1 << 34  # from one buffer to the next
SECTOR, BANKS, WORD = 32, 32, 4


def lanes_of(mask: np.ndarray) -> list[int]:
    """The active lanes in order."""
    return np.flatnonzero(mask).tolist()


@dataclass
class Buffer:
    base: int
    data: np.ndarray
    writable: bool


@dataclass
class Memory:
    """All spaces of a launch; `shared` is the running block's, `local` that of the running warp, (32, n_bytes)."""

    buffers: list[Buffer] = field(default_factory=list)
    counts: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    shared: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    local: np.ndarray = field(default_factory=lambda: np.zeros((32, 0), np.uint8))

    def add(self, data: np.ndarray, writable: bool, base: int | None = None) -> int:
        """Places a buffer; answers with its address."""
        base = GLOBAL_BASE + STEP * len(self.buffers) if base is None else base
        self.buffers.append(Buffer(base, data, writable))
        return base

    def space_of(self, space: str, address: int) -> str:
        """global, shared, local or const; a generic address lies in a window or is global."""
        if space != "generic":
            return space
        for name, base in (("shared", SHARED_BASE), ("local", LOCAL_BASE), ("const", PARAM_BASE)):
            if 0 <= address - base < WINDOW:
                return name
        return "global"

    def place(self, space: str, lane: int, address: int, n_bytes: int, writes: bool) -> tuple[np.ndarray, int] | None:
        """(bytes, offset) of one lane's access, None when it is refused."""
        where = self.space_of(space, address)
        if where in ("shared", "local"):
            if space == "generic":
                address -= SHARED_BASE if where == "shared" else LOCAL_BASE
            data, offset = (self.shared if where == "shared" else self.local[lane]), address
        else:
            found = next((b for b in self.buffers if 0 <= address - b.base < b.data.size), None)
            if found is None or (writes and not found.writable):
                return None
            data, offset = found.data, address - found.base
        if offset + n_bytes > data.size or offset % n_bytes:
            return None
        return data, offset

    # --- requests

    def load(self, space: str, line: int, mask: np.ndarray, addresses: np.ndarray, size: int, count: int) -> np.ndarray:
        """(32, count, size) uint8."""
        n_bytes = size * count
        out = np.full((32, n_bytes), 0xFF, np.uint8)
        for lane in lanes_of(mask):
            place = self.place(space, lane, int(addresses[lane]), n_bytes, False)
            if place:
                data, offset = place
                out[lane] = data[offset : offset + n_bytes]
        self.count(space, "load", line, mask, addresses, n_bytes)
        return out.reshape(32, count, size)

    def store(self, space: str, line: int, mask: np.ndarray, addresses: np.ndarray, values: np.ndarray) -> None:
        """Stores (32, count, size) uint8, lane after lane."""
        n_bytes = values.shape[1] * values.shape[2]
        for lane in lanes_of(mask):
            place = self.place(space, lane, int(addresses[lane]), n_bytes, True)
            if place:
                data, offset = place
                data[offset : offset + n_bytes] = values[lane].reshape(-1)
        self.count(space, "store", line, mask, addresses, n_bytes)

    # --- costs

    def count(self, space: str, kind: str, line: int, mask: np.ndarray, addresses: np.ndarray, n_bytes: int) -> None:
        """Adds a request to the counters of its line; constants and parameters cost nothing here."""
        lanes = lanes_of(mask)
        if not lanes:
            return
        where = self.space_of(space, int(addresses[lanes[0]]))
        if where == "const":
            return
        at = {lane: int(addresses[lane]) for lane in lanes}
        name = f"atomic_{where}" if kind == "atomic" else f"{where}_{kind}"
        row = self.counts[line]
        row[f"{name}_requests"] += 1
        if where != "local" and kind != "atomic":
            row[f"{name}_bytes"] += n_bytes * len(lanes)
        if where == "global":
            row[f"{name}_sectors"] += atomic_sectors(at) if kind == "atomic" else sectors(at.values(), n_bytes)
        elif where == "local":
            row[f"{name}_sectors"] += local_sectors(at, n_bytes)
        elif kind == "atomic":
            row[f"{name}_wavefronts"] += atomic_wavefronts(at.values(), n_bytes)
        else:
            passes = phases(at, n_bytes)
            row[f"{name}_wavefronts"] += sum(passes)
            row[f"{name}_excess"] += sum(n - 1 for n in passes)


def sectors(addresses, n_bytes: int) -> int:
    """Distinct 32-byte sectors."""
    return len({byte // SECTOR for a in addresses for byte in (a, a + n_bytes - 1)})


def local_sectors(at: dict[int, int], n_bytes: int) -> int:
    """Word w of lane l lies at word 32 w + l; each word of the access is a pass of its own."""
    total = 0
    for word in range(-(-n_bytes // WORD)):
        total += len({((a % WINDOW // WORD + word) * 32 + lane) * WORD // SECTOR for lane, a in at.items()})
    return total


def phases(at: dict[int, int], n_bytes: int) -> list[int]:
    """Wavefronts of each part of a shared request that goes on its own."""
    if n_bytes <= WORD:
        return [_ways(at, 1)]
    words = n_bytes // WORD
    groups = [range(32)] if n_bytes == 8 else [range(16), range(16, 32)]
    found = []
    for group in groups:
        part = {lane: a for lane, a in at.items() if lane in group}
        if _in_pairs(part, 1) or _in_pairs(part, 2):
            parts = [part]
        else:
            middle = group[len(group) // 2]
            parts = [{n: a for n, a in part.items() if (n < middle) == low} for low in (True, False)]
        found += [_ways(p, words) for p in parts if p]
    return found


def _in_pairs(at: dict[int, int], distance: int) -> bool:
    return all(at.get(lane ^ distance, a) == a for lane, a in at.items())


def _ways(at: dict[int, int], words: int) -> int:
    """Distinct words in the fullest bank."""
    banks: dict[int, set[int]] = defaultdict(set)
    for address in at.values():
        for word in range(address // WORD, address // WORD + words):
            banks[word % BANKS].add(word)
    return max(map(len, banks.values()))


def atomic_sectors(at: dict[int, int]) -> int:
    """Of each sector, how often its most wanted word is wanted: lanes on one word go one after another."""
    wanted: dict[int, Counter[int]] = defaultdict(Counter)
    for address in at.values():
        wanted[address // SECTOR][address] += 1
    return sum(max(words.values()) for words in wanted.values())


def atomic_wavefronts(addresses, n_bytes: int) -> int:
    """Lanes whose first word shares a bank follow each other."""
    banks: dict[int, int] = defaultdict(int)
    for address in addresses:
        banks[address // WORD % BANKS] += 1
    return max(banks.values()) * -(-n_bytes // WORD)
