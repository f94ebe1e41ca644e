"""What is decided once per kernel and block shape, before any code is written: blocks, slots, addresses, sites."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from simt.codegen.definedness import doubtful
from simt.codegen.merge import merge_shared_loads
from simt.codegen.prepare import prepare
from simt.codegen.uniform import Uniformity, analyse, row_specials, waiting_loops
from simt.codegen.well_formed import check_function
from simt.codegen.wgmma_registers import products_registers
from simt.engine.state import GLOBAL_BASE, PARAM_WINDOW
from simt.ptx.cfg import Cfg, Loop, build
from simt.ptx.lines import call_line, student_line
from simt.ptx.liveness import Liveness, liveness
from simt.ptx.reach import reachable
from simt.ptx.syntax import Function, Instruction, Module, Special, Variable
from simt.ptx.types import PtxType
from simt.ptx.usedef import defs, uses

__all__ = ["WHOLE_WARP", "Placed", "Plan", "SiteInfo", "make_plan"]

MODULE_BASE = GLOBAL_BASE - (1 << 44)  # module variables lie below the buffers
MODULE_GAP = 1 << 20
WHOLE_WARP = frozenset(
    ["ldmatrix", "stmatrix", "movmatrix", "mma", "wmma", "wgmma", "setmaxnreg"]
)  # all 32 lanes take part
SYNCHRONISING = frozenset(["shfl", "vote", "match", "redux", "elect", *WHOLE_WARP])


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A place in the program that counts or reports: a memory instruction, a barrier, an exit, a shuffle."""

    instruction: Instruction
    line: int | None
    scope: int
    access: int
    element_bytes: int = 0
    n_elements: int = 1
    flags: int = 0
    atomic: int = 0
    atomic_type: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """A module variable with its virtual address."""

    variable: Variable
    address: int


@dataclass
class Plan:
    """A kernel ready to be written as LLVM IR.

    `slots` are byte offsets of registers in a warp's register file, `shared` and `local` offsets of variables,
    `placed` module variables; `sites` fills while code is written, the same for full and masked code.
    """

    module: Module
    function: Function
    cfg: Cfg
    live: Liveness
    uniformity: Uniformity
    block_dim: tuple[int, int, int]
    waiting: tuple[tuple[Instruction, Loop], ...]  # loops that wait for other lanes, with the access they repeat
    slots: dict[str, int] = field(default_factory=dict)
    register_bytes: int = 0
    shared: dict[str, int] = field(default_factory=dict)
    static_shared_bytes: int = 0
    dynamic_shared_offset: int = 0  # where dynamic shared memory starts
    local: dict[str, int] = field(default_factory=dict)
    local_bytes: int = 0
    placed: dict[str, Placed] = field(default_factory=dict)
    params: dict[str, int] = field(default_factory=dict)
    param_bytes: int = 0
    sites: dict[int, int] = field(default_factory=dict)  # id of instruction -> index
    site_infos: list[SiteInfo] = field(default_factory=list)
    file_name: str = "kernel.cu"
    cache: Path | None = None  # keeps machine code of long instructions
    doubtful: frozenset[str] = frozenset()  # registers that may hold nothing that was ever written
    undefined: dict[str, int] = field(default_factory=dict)  # their masks' offsets, at the start of the register file
    undefined_bytes: int = 0
    states: dict[str, int] = field(default_factory=dict)  # registers of wgmma: where their states lie, behind the masks
    seeds: frozenset[int] = frozenset()  # ids of loads that only guess what a compare-and-swap then verifies
    blind: frozenset[int] = frozenset()  # ids of exchanges whose old value nobody looks at: they only write
    loop_cost: dict[int, int] = field(default_factory=dict)  # loop header -> instructions of one round
    steps: dict[int, tuple[int, Instruction]] | None = (
        None  # id of instruction -> its number, in a kernel that is followed
    )

    @property
    def is_asynchronous(self) -> bool:
        """Whether copies go on beside the program."""
        return self.has_warpgroups or any(
            i.name in ("cp", "mbarrier") or "async" in i.mods for block in self.cfg.blocks for i in block.instructions
        )

    @property
    def has_warpgroups(self) -> bool:
        """Whether warps multiply together: wgmma."""
        return any(i.name == "wgmma" for block in self.cfg.blocks for i in block.instructions)

    @property
    def reads_by_proxy(self) -> bool:
        """Whether bulk copies or products of warpgroups read shared memory."""
        return any(_reads_by_proxy(i) for block in self.cfg.blocks for i in block.instructions)

    @property
    def meets_cluster(self) -> bool:
        """Whether blocks of a cluster meet at its barrier."""
        return any(i.name == "barrier" and "cluster" in i.mods for block in self.cfg.blocks for i in block.instructions)

    @property
    def wants_workspace(self) -> bool:
        """Whether the kernel asks where the barrier of a cooperative grid lies."""
        names = {
            o.name
            for block in self.cfg.blocks
            for i in block.instructions
            for o in i.operands
            if isinstance(o, Special)
        }
        return bool(names & {"%envreg1", "%envreg2"})

    @property
    def spins(self) -> bool:
        return bool(self.waiting)

    def leaves_bare(self, index: int | None) -> bool:
        """Whether a block does nothing but leave the kernel."""
        if index is None:
            return True
        block = self.cfg.blocks[index]
        return block.leaves and not block.straight and not block.successors

    @property
    def row_specials(self) -> set[str]:
        return row_specials(self.block_dim)

    def line(self, instruction: Instruction) -> int | None:
        return student_line(instruction.location, self.module, self.file_name)

    def call_line(self, instruction: Instruction) -> int | None:
        """The line of an instruction that only inline PTX spells: where the function around it is called."""
        return call_line(instruction.location, self.module, self.file_name)

    def site(self, instruction: Instruction, info, part: int = 0) -> int:
        """The index of an instruction's site; `info` makes the row the first time. A copy's second side is part 1."""
        key = id(instruction) + part  # no other object lies so near
        index = self.sites.get(key)
        if index is None:
            index = len(self.site_infos)
            self.site_infos.append(info())
            self.sites[key] = index
        return index

    def is_uniform(self, register: str) -> bool:
        return register in self.uniformity.registers


def _reads_by_proxy(instruction: Instruction) -> bool:
    mods = instruction.mods
    if instruction.name == "wgmma":
        return "mma_async" in mods
    stores = "bulk_group" in mods or {"shared::cluster", "shared::cta"} <= set(mods)
    return instruction.name == "cp" and "bulk" in mods and stores


def is_barrier(instruction: Instruction) -> bool:
    """Whether threads of the block wait here; those that only arrive go on."""
    return (
        instruction.name in ("bar", "barrier") and "warp" not in instruction.mods and "arrive" not in instruction.mods
    )


def is_cluster_wait(instruction: Instruction) -> bool:
    """Whether threads wait for their cluster here."""
    return instruction.name == "barrier" and instruction.mods[:2] == ("cluster", "wait")


def is_synchronising(instruction: Instruction) -> bool:
    """Whether lanes named by a mask, or all lanes of the warp, meet here."""
    return (instruction.name in SYNCHRONISING and "sync" in instruction.mods) or (
        instruction.name == "bar" and "warp" in instruction.mods
    )


def make_plan(module: Module, kernel: str, block_dim: tuple[int, int, int], file_name: str = "kernel.cu") -> Plan:
    """Decides everything that full and masked code share.

    Raises:
        Unsupported: an instruction, call or variable that simt does not run.
    """
    for name in reachable(module, kernel).functions:
        check_function(module.functions[name])
    function = prepare(module, module.functions[kernel])
    shared, static_shared_bytes, dynamic_offset = _place_shared(_variables(module, function, "shared"))
    function = merge_shared_loads(function, shared)
    cfg = build(
        function,
        split_before=lambda i: is_barrier(i) or is_synchronising(i),
        split_after=lambda i: is_barrier(i) or i.name == "trap",
    )
    uniformity, waiting = analyse(cfg, block_dim), tuple(waiting_loops(cfg))
    plan = Plan(module, function, cfg, liveness(cfg), uniformity, block_dim, waiting, file_name=file_name)
    plan.shared, plan.static_shared_bytes, plan.dynamic_shared_offset = shared, static_shared_bytes, dynamic_offset
    plan.seeds = _seeds(cfg)
    plan.blind = _blind(cfg)
    _place_registers(plan)
    _place_variables(plan)
    for loop in cfg.loops:
        plan.loop_cost[loop.header] = sum(len(cfg.blocks[index].instructions) for index in loop.blocks)
    return plan


def _seeds(cfg: Cfg) -> frozenset[int]:
    """Loads of a word that the kernel also compares and swaps: `old = *a; do … while (atomicCAS(a, …) != …)`."""
    instructions = [i for block in cfg.blocks for i in block.instructions]
    swapped = {i.operands[1] for i in instructions if i.name == "atom" and "cas" in i.mods}
    return frozenset(id(i) for i in instructions if i.name == "ld" and i.operands[1] in swapped)


def _blind(cfg: Cfg) -> frozenset[int]:
    """Exchanges into a register that no instruction reads; PTX has no `red.exch` for them."""
    instructions = [i for block in cfg.blocks for i in block.instructions]
    exchanges = [i for i in instructions if i.name == "atom" and "exch" in i.mods]
    if not exchanges:
        return frozenset()
    read = {name for i in instructions for name in uses(i)}
    return frozenset(id(i) for i in exchanges if read.isdisjoint(defs(i)))


def slot_bytes(kind: PtxType, uniform: bool) -> int:
    """Bytes of a register in the register file: predicates are one bit a lane, at least one word."""
    if uniform:
        return 16 if kind.bits == 128 else 8
    return 4 if kind.bits == 1 else 32 * max(kind.n_bytes, 2)


def _place_registers(plan: Plan) -> None:
    crossing = set().union(*plan.live.live_in, *plan.live.live_out)
    kinds = plan.function.registers
    offset = 0
    for name in sorted(crossing, key=lambda n: (-slot_bytes(kinds[n], plan.is_uniform(n)), n)):
        plan.slots[name] = offset
        offset += slot_bytes(kinds[name], plan.is_uniform(name))
    plan.register_bytes = _align(offset, 64)
    plan.doubtful = doubtful(plan.cfg, plan.live)
    plan.undefined = {name: 4 * index for index, name in enumerate(sorted(plan.doubtful))}
    watched = sorted(products_registers(plan.cfg)) if plan.has_warpgroups else []
    plan.states = {name: 4 * (len(plan.undefined) + index) for index, name in enumerate(watched)}
    plan.undefined_bytes = _align(4 * (len(plan.undefined) + len(plan.states)), 64)


def _align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _variables(module: Module, function: Function, *spaces: str) -> list[Variable]:
    """Module variables that the kernel reaches, then its own, in these spaces."""
    reached = [module.variables[name] for name in reachable(module, function.name).variables]
    return [v for v in (*reached, *function.variables) if v.space in spaces]


def _place_variables(plan: Plan) -> None:
    for variable in _variables(plan.module, plan.function, "local"):
        plan.local_bytes = _align(plan.local_bytes, variable.align)
        plan.local[variable.name] = plan.local_bytes
        plan.local_bytes += variable.n_bytes
    plan.local_bytes = _align(plan.local_bytes, 16)
    address = MODULE_BASE
    for variable in _variables(plan.module, plan.function, "global", "const"):
        plan.placed[variable.name] = Placed(variable, address)
        address = _align(address + variable.n_bytes + MODULE_GAP, 256)
    for variable in plan.function.params:
        plan.param_bytes = _align(plan.param_bytes, variable.align)
        plan.params[variable.name] = plan.param_bytes
        plan.param_bytes += variable.n_bytes


def _place_shared(variables: list[Variable]) -> tuple[dict[str, int], int, int]:
    """(offset by name, static bytes, start of dynamic ones): static arrays in a row, extern ones all at their end."""
    dynamic = [v for v in variables if v.extern or v.count == 0]
    places: dict[str, int] = {}
    offset = 0
    for variable in variables:
        if variable not in dynamic:
            offset = _align(offset, max(variable.align, 16 if variable.n_bytes >= 16 else 1))
            places[variable.name] = offset
            offset += variable.n_bytes
    start = _align(offset, max([16, *(variable.align for variable in dynamic)]))
    places |= {variable.name: start for variable in dynamic}
    return places, offset, start


def symbol_address(plan: Plan, name: str) -> int | None:
    """What `mov %rd, name` gives: an offset in the variable's own space, or a virtual address."""
    if name in plan.shared:
        return plan.shared[name]
    if name in plan.local:
        return plan.local[name]
    if name in plan.placed:
        return plan.placed[name].address
    if name in plan.params:
        return PARAM_WINDOW + plan.params[name]
    return None
