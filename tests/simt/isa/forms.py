"""Which forms a test takes: all pure ones of a family, or a sample that leaves out most boolean joins of comparisons."""

from __future__ import annotations

from types import ModuleType

from simt.isa.op import Form, Role, forms_of

__all__ = ["pure", "sampled"]


def pure(family: ModuleType) -> list[Form]:
    """Every pure form of a family, in the table's order."""
    return [form for row in family.ROWS if row.role is Role.PURE for form in forms_of(row)]


def _is_join(form: Form) -> bool:
    return form.op.name in ("set", "setp") and not {"and", "or", "xor"}.isdisjoint(form.mods)


def sampled(family: ModuleType) -> list[Form]:
    """The pure forms of a family, with joined comparisons only of `lt`: the rest differ from those by parts tested alone."""
    return [form for form in pure(family) if not _is_join(form) or form.mods[0] == "lt"]
