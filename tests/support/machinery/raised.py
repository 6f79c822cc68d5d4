"""The domain errors that a function can raise, found by following its calls through our own modules."""

import ast
import builtins
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from django.shortcuts import get_object_or_404

from core.errors import DomainError, NotFound

OURS = {"core", "brands", "jobs", "events", "portal", "campaigns", "loyalty", "authcodes", "config"}
Kinds = frozenset[type[DomainError]]
NOTHING: Kinds = frozenset()


@dataclass(frozen=True)
class Instance:
    """A value whose class alone is known."""

    kind: type


class Reader:
    """Reads each function once. It cannot follow calls through a table or a setting."""

    def __init__(self) -> None:
        self.known: dict[object, Kinds] = {}

    def raised_by(self, function: Callable[..., object], owner: type | None = None) -> Kinds:
        """The errors that `function` raises, and those that the functions it calls raise or declare."""
        function = inspect.unwrap(function)
        key = (function, owner)
        if key not in self.known:
            self.known[key] = NOTHING  # in a cycle, the errors of the other functions
            self.known[key] = self.read(function, owner)
        return self.known[key]

    def read(self, function: Callable[..., object], owner: type | None) -> Kinds:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        names = dict(inspect.getclosurevars(function).nonlocals)
        with suppress(NameError, TypeError):  # a hint whose name is imported for type checking only
            names |= {
                name: Instance(kind)
                for name, kind in typing.get_type_hints(function).items()
                if isinstance(kind, type) and name != "return"
            }
        if owner:
            names |= {"self": Instance(owner), "cls": owner}
        body = Body(self, {**vars(builtins), **function.__globals__, **names})
        return body.all_of(tree.body if isinstance(tree, ast.FunctionDef) else [])

    def of(self, value: object, owner: type | None = None) -> Kinds:
        """The errors that a mention of `value` may lead to: errors are assumed to be raised, functions to be called."""
        if isinstance(value, type) and issubclass(value, DomainError):
            return frozenset({value})
        if value is get_object_or_404:
            return frozenset({NotFound})
        if getattr(value, "__module__", None) is None or str(value.__module__).partition(".")[0] not in OURS:
            return NOTHING
        if isinstance(value, type):
            made = [vars(value)[name] for name in ("__init__", "__post_init__") if name in vars(value)]
            return NOTHING.union(*(self.of(each, value) for each in made if has_source(each)))
        if isinstance(value, types.MethodType):
            return self.of(value.__func__, value.__self__ if isinstance(value.__self__, type) else type(value.__self__))
        if isinstance(value, types.FunctionType):
            declared = getattr(value, "raises", None)
            return self.raised_by(value, owner) if declared is None else frozenset(declared)
        return NOTHING


def has_source(value: object) -> bool:
    """Whether this function has source code; those that a dataclass generates have none."""
    return isinstance(value, types.FunctionType) and not value.__code__.co_filename.startswith("<")


class Body:
    """The statements of one function."""

    def __init__(self, reader: Reader, names: dict[str, object]) -> None:
        self.reader = reader
        self.names = names

    def all_of(self, nodes: Iterable[ast.AST]) -> Kinds:
        return NOTHING.union(*(self.raised(node) for node in nodes))

    def raised(self, node: ast.AST) -> Kinds:
        if isinstance(node, ast.Try):
            return self.of_try(node)
        if isinstance(node, ast.With):
            return self.of_with(node)
        inner = self.all_of(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.names[node.targets[0].id] = self.value_of(node.value)
        if isinstance(node, ast.NamedExpr):
            self.names[node.target.id] = self.value_of(node.value)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            return inner | self.of_name(node)
        return inner

    def of_name(self, node: ast.Name | ast.Attribute) -> Kinds:
        value = self.value_of(node)
        owner = self.value_of(node.value) if isinstance(node, ast.Attribute) else None
        return self.reader.of(value, owner.kind if isinstance(owner, Instance) else None)

    def of_try(self, node: ast.Try) -> Kinds:
        """The errors without those that are caught. A handler with a bare `raise` catches nothing."""
        left = self.all_of(node.body)
        for handler in node.handlers:
            again = any(isinstance(each, ast.Raise) and each.exc is None for each in ast.walk(handler))
            left = left if again else self.without(left, [handler.type] if handler.type else [])
        return left | self.all_of(
            [*(statement for handler in node.handlers for statement in handler.body), *node.orelse, *node.finalbody]
        )

    def of_with(self, node: ast.With) -> Kinds:
        around = self.all_of(item for item in node.items)
        left = self.all_of(node.body)
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and self.value_of(call.func) is suppress:
                caught = NOTHING.union(*(self.reader.of(self.value_of(each)) for each in call.args))
                return self.without(left, call.args) | (around - caught)
        return around | left

    def without(self, kinds: Kinds, caught: Iterable[ast.expr]) -> Kinds:
        values: list[object] = []
        for each in caught:
            values += map(self.value_of, each.elts) if isinstance(each, ast.Tuple) else [self.value_of(each)]
        classes = tuple(each for each in values if isinstance(each, type))
        return frozenset(kind for kind in kinds if not issubclass(kind, classes))

    def value_of(self, node: ast.AST) -> object:
        """The value of an expression, if it can be determined without running it; else None."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            return self.member(self.value_of(node.value), node.attr)
        if isinstance(node, ast.Call):
            return self.result_of(self.value_of(node.func))
        return None

    def member(self, value: object, name: str) -> object:
        if isinstance(value, types.ModuleType | type):
            return getattr(value, name, None)
        if not isinstance(value, Instance):
            return None
        attribute = inspect.getattr_static(value.kind, name, None)
        if isinstance(attribute, classmethod | staticmethod):
            return getattr(value.kind, name)
        if isinstance(attribute, property):
            return attribute.fget
        if isinstance(attribute, types.FunctionType):
            return attribute
        with suppress(NameError, TypeError):
            hint = typing.get_type_hints(value.kind).get(name)
            return Instance(hint) if isinstance(hint, type) else None
        return None

    def result_of(self, called: object) -> object:
        if isinstance(called, type):
            return Instance(called)
        if isinstance(called, types.FunctionType | types.MethodType):
            with suppress(NameError, TypeError):
                hint = typing.get_type_hints(called).get("return")
                return Instance(hint) if isinstance(hint, type) else None
        return None
