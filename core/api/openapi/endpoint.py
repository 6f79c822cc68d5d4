"""What an endpoint declares besides its serializers. `config.schema` builds the API's description from it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema

from core.errors import DomainError

F = TypeVar("F", bound=Callable[..., Any])

# Who may call: each alternative lists credentials that are required together.
PUBLIC: tuple[str, ...] = ()
BEARER = ("bearer",)
KEY = ("apiKey",)
KEY_AND_BEARER = ("apiKey", "bearer")
PORTAL = ("session",)


def endpoint(
    name: str,
    *,
    tag: str,
    needs: Sequence[tuple[str, ...]],
    calls: Sequence[Callable[..., Any]] = (),
    raises: Sequence[type[DomainError]] = (),
    delivers: Iterable[str] = (),
    error_examples: Mapping[str, Mapping[str, Any]] | None = None,
    **schema: Any,
) -> Callable[[F], F]:
    """`@extend_schema` with what every endpoint has: an operationId, a tag, who may call, and its error codes.

    The error codes are those that the commands in `calls` declare with `@raises`, those that the view `raises`
    itself, and general ones, such as an invalid token or a body that is too long. An endpoint that `delivers` kinds
    of events at once also has the errors of their handlers. `error_examples` replaces, by code, members of an
    example's envelope where the error's own do not fit. The method's docstring is published.
    """
    kinds = [*raises, *(kind for command in calls for kind in raised_by(command))]
    more = {
        "x-needs": needs,
        "x-errors": [kind.code for kind in kinds],
        "x-delivers": list(delivers),
        "x-error-examples": error_examples or {},
    }

    def decorate(method: F) -> F:
        vars(method)["operation"] = name
        return extend_schema(operation_id=name, tags=[tag], auth=[], extensions=more, **schema)(method)

    return decorate


def raised_by(command: Callable[..., Any]) -> Sequence[type[DomainError]]:
    """The errors that a command declares with `@raises`."""
    kinds: Sequence[type[DomainError]] = vars(command)["raises"]
    return kinds
