"""The compiler of the native subset: typed syntax trees (`simt.engine.native`) become LLVM IR.

Loaded only where no cache holds the machine code yet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from llvmlite import ir

from simt.engine.builtins import BUILTINS
from simt.engine.native import NativeFunction
from simt.engine.records import ArrayType, Float, Int, PtrType, Record, b1, i64, llvm_type, u64, void
from simt.engine.values import Literal, NativeError, Value, arithmetic, coerce, compare, convert, unify

__all__ = ["build_module"]


def build_module(functions: Iterable[NativeFunction], name: str = "runtime") -> ir.Module:
    """One LLVM module with these functions and every native function they call."""
    module = ir.Module(name=name)
    pending, done = list(functions), {}
    for function in pending:
        _declare(module, function)
    while pending:
        function = pending.pop()
        if function.name in done:
            continue
        done[function.name] = function
        compiler = _Compiler(module, function)
        compiler.run()
        pending.extend(compiler.called)
    return module


def _declare(module: ir.Module, function: NativeFunction) -> ir.Function:
    found = module.globals.get(function.name)
    if found is None:
        found = ir.Function(module, function.llvm_type(), function.name)
        for attribute in function.attributes:
            found.attributes.add(attribute)
    return found


class _Compiler:
    """Compiles one function: statements in `visit_*`, expressions in `expr`."""

    def __init__(self, module: ir.Module, function: NativeFunction):
        self.module, self.function = module, function
        self.called: list[NativeFunction] = []
        self.variables: dict[str, tuple[ir.Value, object]] = {}
        self.loops: list[tuple[ir.Block, ir.Block]] = []
        self.kinds, self.result = function.signature
        self.target = _declare(module, function)
        self.entry = self.target.append_basic_block("entry")
        self.b = ir.IRBuilder(self.entry)

    def run(self) -> None:
        for argument, value, kind in zip(self.function.tree.args.args, self.target.args, self.kinds, strict=True):
            self._store_new(argument.arg, Value(value, kind))
        try:
            self._body(self.function.tree.body)
        except NativeError as error:
            raise NativeError(f"{self.function.name}: {error}") from None
        if not self.b.block.is_terminated:
            self.b.ret_void() if self.result is void else self.b.unreachable()

    # --- statements

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.b.block.is_terminated:
                return
            try:
                getattr(self, f"_{type(statement).__name__}")(statement)
            except NativeError as error:
                if "line" in str(error):
                    raise
                line = self.function.first_line + statement.lineno - 1
                raise NativeError(f"{self.function.file}, line {line}: {error}") from None

    def _Pass(self, node) -> None:
        pass

    def _Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expr(node.value)

    def _Assign(self, node: ast.Assign) -> None:
        self._assign(node.targets[0], self.expr(node.value))

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        kind = self.function.type_of(node.annotation)
        self._store_new(node.target.id, convert(self.b, self.expr(node.value), kind))

    def _AugAssign(self, node: ast.AugAssign) -> None:
        left = self.expr(_as_load(node.target))
        self._assign(node.target, arithmetic(self.b, node.op, left, self.expr(node.value)))

    def _assign(self, target: ast.expr, value: Value | Literal) -> None:
        if isinstance(target, ast.Name):
            if target.id not in self.variables:
                if isinstance(value, Literal):
                    value = coerce(self.b, value, i64)
                self._store_new(target.id, value)
                return
            place, kind = self.variables[target.id]
        else:
            place, kind = self._place(target)
        self.b.store(coerce(self.b, value, kind).llvm, place)

    def _store_new(self, name: str, value: Value) -> None:
        if name not in self.variables:
            with self.b.goto_entry_block():
                place = self.b.alloca(value.kind.llvm, name=name)
            self.variables[name] = (place, value.kind)
        place, kind = self.variables[name]
        self.b.store(coerce(self.b, value, kind).llvm, place)

    def _Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.b.ret_void()
        else:
            self.b.ret(coerce(self.b, self.expr(node.value), self.result).llvm)

    def _If(self, node: ast.If) -> None:
        then, other, end = (self.target.append_basic_block(n) for n in ("then", "else", "endif"))
        self.b.cbranch(self._truth(node.test), then, other)
        for block, body in ((then, node.body), (other, node.orelse)):
            self.b.position_at_end(block)
            self._body(body)
            if not self.b.block.is_terminated:
                self.b.branch(end)
        self.b.position_at_end(end)
        if not any(end in block.terminator.operands for block in self.target.blocks if block.is_terminated):
            self.b.unreachable()

    def _While(self, node: ast.While) -> None:
        head, body, end = (self.target.append_basic_block(n) for n in ("head", "body", "end"))
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(self._truth(node.test), body, end)
        self._loop(node.body, body, head, end)

    def _loop(self, statements, body: ir.Block, again: ir.Block, end: ir.Block) -> None:
        self.loops.append((again, end))
        self.b.position_at_end(body)
        self._body(statements)
        if not self.b.block.is_terminated:
            self.b.branch(again)
        self.loops.pop()
        self.b.position_at_end(end)

    def _For(self, node: ast.For) -> None:
        bounds = [self.expr(argument) for argument in node.iter.args]
        start = bounds[0] if len(bounds) > 1 else Literal(0)
        stop, step = bounds[min(1, len(bounds) - 1)], bounds[2] if len(bounds) > 2 else Literal(1)
        start, stop = unify(self.b, start, stop)
        self._store_new(node.target.id, start)
        place, kind = self.variables[node.target.id]
        head, body, again, end = (self.target.append_basic_block(n) for n in ("head", "body", "again", "end"))
        self.b.branch(head)
        self.b.position_at_end(head)
        here = Value(self.b.load(place, typ=kind.llvm), kind)
        self.b.cbranch(compare(self.b, ast.Lt(), here, stop).llvm, body, end)
        self.b.position_at_end(again)
        here = Value(self.b.load(place, typ=kind.llvm), kind)
        self.b.store(arithmetic(self.b, ast.Add(), here, coerce(self.b, step, kind)).llvm, place)
        self.b.branch(head)
        self._loop(node.body, body, again, end)

    def _Break(self, node) -> None:
        self.b.branch(self.loops[-1][1])

    def _Continue(self, node) -> None:
        self.b.branch(self.loops[-1][0])

    # --- places: what can be assigned to

    def _place(self, node: ast.expr) -> tuple[ir.Value, object]:
        if isinstance(node, ast.Attribute):
            record = self._pointer(node.value)
            kind = record.kind.element.fields[node.attr]
            zero, index = (
                ir.Constant(ir.IntType(32), 0),
                ir.Constant(ir.IntType(32), record.kind.element.index(node.attr)),
            )
            place = self.b.gep(record.llvm, [zero, index], source_etype=record.kind.element.llvm_struct())
            return place, kind
        if isinstance(node, ast.Subscript):
            base = self._pointer(node.value)
            return self._element(base, self.expr(node.slice)), base.kind.element
        raise NativeError(f"cannot assign to {ast.unparse(node)}")

    def _pointer(self, node: ast.expr) -> Value:
        value = self.expr(node)
        if not isinstance(getattr(value, "kind", None), PtrType):
            raise NativeError(f"{ast.unparse(node)} is no pointer")
        return value

    def _element(self, base: Value, index: Value | Literal) -> ir.Value:
        offset = coerce(self.b, index, i64) if isinstance(index, Literal) else convert(self.b, index, i64)
        return self.b.gep(base.llvm, [offset.llvm], source_etype=llvm_type(base.kind.element))

    def _read(self, place: ir.Value, kind) -> Value:
        if isinstance(kind, ArrayType):
            return Value(place, PtrType(kind.element))
        if isinstance(kind, type) and issubclass(kind, Record):
            return Value(place, PtrType(kind))
        return Value(self.b.load(place, typ=kind.llvm), kind)

    # --- expressions

    def expr(self, node: ast.expr) -> Value | Literal:
        return getattr(self, f"_{type(node).__name__}")(node)

    def _truth(self, node: ast.expr) -> ir.Value:
        value = self.expr(node)
        if isinstance(value, Literal):
            return ir.Constant(ir.IntType(1), int(bool(value.number)))
        if value.kind == b1:
            return value.llvm
        if isinstance(value.kind, PtrType):
            return self.b.icmp_unsigned("!=", value.llvm, ir.Constant(ir.PointerType(), None))
        return compare(self.b, ast.NotEq(), value, Literal(0)).llvm

    def _Constant(self, node: ast.Constant) -> Literal:
        return Literal(int(node.value) if isinstance(node.value, bool) else node.value)

    def _Name(self, node: ast.Name) -> Value | Literal:
        if node.id in self.variables:
            return self._read(*self.variables[node.id])
        found = self.function.scope.get(node.id)
        if isinstance(found, (int, float)):
            return Literal(found)
        raise NativeError(f"unknown name {node.id}")

    def _Attribute(self, node: ast.Attribute) -> Value | Literal:
        if isinstance(node.value, ast.Name) and node.value.id not in self.variables:
            member = getattr(self.function.scope.get(node.value.id), node.attr, None)
            if isinstance(member, int):  # a constant of an IntEnum
                return Literal(int(member))
        return self._read(*self._place(node))

    def _Subscript(self, node: ast.Subscript) -> Value:
        return self._read(*self._place(node))

    def _BinOp(self, node: ast.BinOp) -> Value | Literal:
        left, right = self.expr(node.left), self.expr(node.right)
        if isinstance(getattr(left, "kind", None), PtrType):
            return Value(self._element(left, right), left.kind)
        return arithmetic(self.b, node.op, left, right)

    def _UnaryOp(self, node: ast.UnaryOp) -> Value | Literal:
        if isinstance(node.op, ast.Not):
            return Value(self.b.not_(self._truth(node.operand)), b1)
        value = self.expr(node.operand)
        if isinstance(value, Literal):
            return Literal(-value.number if isinstance(node.op, ast.USub) else ~value.number)
        if isinstance(node.op, ast.USub):
            return Value(
                self.b.fneg(value.llvm) if isinstance(value.kind, Float) else self.b.neg(value.llvm), value.kind
            )
        return Value(self.b.not_(value.llvm), value.kind)

    def _Compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1:
            raise NativeError("chained comparison")
        return compare(self.b, node.ops[0], self.expr(node.left), self.expr(node.comparators[0]))

    def _BoolOp(self, node: ast.BoolOp) -> Value:
        end = self.target.append_basic_block("bool")
        short = int(isinstance(node.op, ast.Or))
        incoming = []
        for operand in node.values[:-1]:
            truth, more = self._truth(operand), self.target.append_basic_block("more")
            incoming.append((ir.Constant(ir.IntType(1), short), self.b.block))
            self.b.cbranch(truth, *((end, more) if short else (more, end)))
            self.b.position_at_end(more)
        incoming.append((self._truth(node.values[-1]), self.b.block))
        self.b.branch(end)
        self.b.position_at_end(end)
        phi = self.b.phi(ir.IntType(1))
        for value, block in incoming:
            phi.add_incoming(value, block)
        return Value(phi, b1)

    def _IfExp(self, node: ast.IfExp) -> Value:
        truth = self._truth(node.test)
        then, other = unify(self.b, self.expr(node.body), self.expr(node.orelse))
        return Value(self.b.select(truth, then.llvm, other.llvm), then.kind)

    def _Call(self, node: ast.Call) -> Value | Literal | None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        found = self.function.scope.get(name)
        if isinstance(found, NativeFunction):
            return self._call_native(found, node)
        if isinstance(found, (Int, Float)):
            return convert(self.b, self.expr(node.args[0]), found)
        if name == "cast":
            return Value(self._as_pointer(self.expr(node.args[1])), self.function.type_of(node.args[0]))
        if name == "addr":
            place, kind = self._place(node.args[0])
            return Value(place, PtrType(kind.element if isinstance(kind, ArrayType) else kind))
        if name == "call":
            return self._call_pointer(node)
        if name == "local":
            return self._local(*node.args)
        if name in BUILTINS:
            return BUILTINS[name](self.b, *[self.expr(argument) for argument in node.args])
        raise NativeError(f"unknown function {ast.unparse(node.func)}")

    def _as_pointer(self, value: Value) -> ir.Value:
        if isinstance(value.kind, PtrType):
            return value.llvm
        return self.b.inttoptr(value.llvm, ir.PointerType())

    def _local(self, kind: ast.expr, length: ast.expr) -> Value:
        """`local(u64, 32)`: a pointer to an array on the stack."""
        element = self.function.type_of(kind)
        count = ir.Constant(ir.IntType(32), self.expr(length).number)
        with self.b.goto_entry_block():
            place = self.b.alloca(element.llvm, count)
        place.align = 32
        return Value(place, PtrType(element))

    def _arguments(self, kinds, nodes) -> list[ir.Value]:
        if len(kinds) != len(nodes):
            raise NativeError(f"{len(nodes)} arguments for {len(kinds)} parameters")
        return [coerce(self.b, self.expr(node), kind).llvm for kind, node in zip(kinds, nodes, strict=True)]

    def _call_native(self, callee: NativeFunction, node: ast.Call) -> Value | None:
        kinds, result = callee.signature
        self.called.append(callee)
        value = self.b.call(_declare(self.module, callee), self._arguments(kinds, node.args))
        return None if result is void else Value(value, result)

    def _call_pointer(self, node: ast.Call) -> Value | None:
        """`call(result type, pointer, arguments…)`: arguments keep their own types."""
        result, pointer = self.function.type_of(node.args[0]), self.expr(node.args[1])
        values = [self.expr(argument) for argument in node.args[2:]]
        kind = ir.FunctionType(result.llvm, [value.kind.llvm for value in values])
        # llvmlite wants a typed pointer to know the signature; it prints as a plain `ptr`.
        number = convert(self.b, pointer, u64).llvm
        target = self.b.inttoptr(number, ir.PointerType(kind))
        called = self.b.call(target, [value.llvm for value in values])
        return None if result is void else Value(called, result)


def _as_load(node: ast.expr) -> ast.expr:
    copy = ast.parse(ast.unparse(node), mode="eval").body
    return ast.copy_location(copy, node)
