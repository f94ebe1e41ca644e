"""Every native function that generated code or Python calls by name."""

from __future__ import annotations

from simt.engine.async_copies import COPIES
from simt.engine.atomics import atomic
from simt.engine.block import pick, start_block, start_warps
from simt.engine.block_barriers import arrive
from simt.engine.bulk_copies import BULK_COPIES
from simt.engine.bulk_flights import BULK_FLIGHTS
from simt.engine.caches import CACHES
from simt.engine.cluster_barrier import CLUSTER_BARRIERS
from simt.engine.exchange import EXCHANGE
from simt.engine.grid import run_grid
from simt.engine.matrix import MATRIX
from simt.engine.mbarrier_waits import MBARRIER_WAITS
from simt.engine.mbarriers import MBARRIERS
from simt.engine.memory import load, load_uniform, store
from simt.engine.proxies import PROXIES
from simt.engine.races import fence
from simt.engine.services import SERVICES
from simt.engine.stepping import STEPPING
from simt.engine.tile_copies import TILE_COPIES
from simt.engine.wgmma import PRODUCTS
from simt.engine.wgmma_rules import RULES

__all__ = ["ENTRY_POINTS"]

ENTRY_POINTS = (
    *CACHES, load, load_uniform, store, atomic, fence, pick, arrive, start_block, start_warps, run_grid,
    *EXCHANGE, *SERVICES, *MATRIX, *COPIES, *BULK_COPIES, *BULK_FLIGHTS, *TILE_COPIES, *PROXIES, *MBARRIERS, *MBARRIER_WAITS,
    *PRODUCTS, *RULES, *STEPPING, *CLUSTER_BARRIERS,
)  # fmt: skip
