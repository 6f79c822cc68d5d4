"""The database guard: which brands' rows the statements of this thread may see, whatever they select.

PostgreSQL enforces it with row-level security (brands.isolation.policies). This module only holds the required
scope; the connection (core.db.postgresql) sets the role and the scope before its next statement.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])

# Whose rows a view works with.
OF_CUSTOMER, OF_BRAND, OF_STAFF = "its customer's", "its brand's", "its staff's brands'"


@dataclass(frozen=True, slots=True)
class Scope:
    """The brands whose rows may be read and written (none if empty), and the user, who may always see their own row.

    With a `customer_id`, only this customer's rows are visible in tables whose rows belong to customers.
    """

    brand_ids: str  # as a PostgreSQL array literal
    user_id: str = ""
    customer_id: str = ""


_scope: ContextVar[Scope | None] = ContextVar("database_scope", default=None)


def current() -> Scope | None:
    """None outside the guard: the application's own role, which sees all brands."""
    return _scope.get()


def scope_of(brand_ids: Iterable[int], user_id: int | None = None) -> Scope:
    numbers = ",".join(str(int(each)) for each in sorted(set(brand_ids)))
    return Scope(f"{{{numbers}}}", "" if user_id is None else str(int(user_id)))


def scope_of_customer(brand_id: int, user_id: int) -> Scope:
    return replace(scope_of([brand_id], user_id), customer_id=str(int(user_id)))


@contextmanager
def within(brand_ids: Iterable[int], *, user_id: int | None = None) -> Iterator[None]:
    """Run the block with access to the rows of these brands only."""
    yield from _with(scope_of(brand_ids, user_id))


@contextmanager
def as_customer(brand_id: int, user_id: int) -> Iterator[None]:
    """Run the block with access to what the brand shows its customers, and to this customer's own rows there."""
    yield from _with(scope_of_customer(brand_id, user_id))


@contextmanager
def brand_wide(why: str) -> Iterator[None]:
    """Within `as_customer`: read what the brand does not show its customers, and give the reason. Filter by hand."""
    assert why  # noqa: S101 - for readers of the call
    scope = _scope.get()
    yield from _with(replace(scope, customer_id="") if scope else None)


@contextmanager
def disabled(why: str) -> Iterator[None]:
    """Leave the guard to read or write more, and give the reason. Keep the block short, and filter by hand."""
    assert why  # noqa: S101 - for readers of the call
    yield from _with(None)


def _with(scope: Scope | None) -> Iterator[None]:
    before = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(before)


def marked(whose: str) -> Callable[[M], M]:
    """Declare whose rows a view's method reads and changes, for the test that looks for views without the guard."""

    def mark(method: M) -> M:
        method.runs_under = whose  # type: ignore[attr-defined]
        return method

    return mark


def carried(chunks: Iterable[T]) -> Iterator[T]:
    """Iterate over `chunks` in the current scope: a streamed answer is read after its view has returned."""
    scope, remaining = _scope.get(), iter(chunks)
    end: Any = object()

    def following() -> T:
        before = _scope.set(scope)
        try:
            return next(remaining, end)
        finally:
            _scope.reset(before)

    return iter(following, end)
