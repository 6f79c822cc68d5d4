"""Identifies who calls the API for a brand: a hub key with a scope, or a member of staff with an access token."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from django.utils import timezone
from rest_framework.request import Request

from brands.access import idempotent_requests
from brands.audit_log import AuditContext
from brands.errors import ApiKeyInvalid, BrandMismatch
from brands.identity.api_keys import Caller
from brands.identity.authentication import caller_of, staff_may_read
from brands.identity.roles import VIEW
from brands.identity.tokens import Principal
from brands.models.people import User
from brands.models.tenants import Brand
from core.db import row_guard
from core.errors import AuthenticationRequired, Forbidden, raises
from core.redis import rate_limits

M = TypeVar("M", bound=Callable[..., Any])


@dataclass(slots=True)
class BrandAccess:
    """A caller with access to the brand. `user` is None for a hub key."""

    brand_id: int
    caller: Caller | None
    user: User | None
    token: Principal | None
    request_id: str
    customer_id: int | None = None  # the customer that the answer is about, for their erasure

    @property
    def sender(self) -> str:
        """The caller's identity for Idempotency-Keys and rate limits."""
        return f"key:{self.caller.key_id}" if self.caller else f"user:{self.user.pk if self.user else 0}"

    @property
    def brand(self) -> Brand:
        return Brand.objects.get(pk=self.brand_id)

    def may(self, scope: str, label: str, verb: str = VIEW) -> bool:
        """Whether the caller may do `verb` with the brand's rows of the model `label`. A key needs the scope."""
        if self.caller:
            return self.caller.is_hub and scope in self.caller.scopes
        return staff_may_read(self.user, self.token, self.brand_id, label, verb)

    def audit_context(self, reason: str = "") -> AuditContext:
        key_id = self.caller.key_id if self.caller else None
        return AuditContext(self.user, timezone.now(), self.request_id, reason, key_id)


@raises(AuthenticationRequired, ApiKeyInvalid, BrandMismatch, Forbidden)
def access_of(request: Request, *, scope: str, label: str, verb: str = VIEW) -> BrandAccess:
    """The access of the brand's hub by its key, or of its staff by their token.

    Raises AuthenticationRequired without either, ApiKeyInvalid, BrandMismatch, RateLimited, and Forbidden for an app
    key, for a hub key without the scope, and for staff who may not do `verb` with `label` in the portal either.
    """
    caller = caller_of(request)
    token = request.auth if isinstance(request.auth, Principal) else None
    if caller and token and caller.brand_id != token.brand_id:
        raise BrandMismatch
    if caller:
        caller.require(scope)
        access = BrandAccess(caller.brand_id, caller, None, None, getattr(request, "request_id", ""))
    elif token and isinstance(request.user, User):
        access = BrandAccess(token.brand_id, None, request.user, token, getattr(request, "request_id", ""))
        if not access.may(scope, label, verb):
            raise Forbidden
    else:
        raise AuthenticationRequired
    request.brand_access = access  # type: ignore[attr-defined] # for the filters of lists
    rate_limits.hit("read", f"reader:{caller.prefix if caller else request.user.pk}")
    return access


def for_brand(scope: str, label: str, verb: str = VIEW, *, writes: bool = False) -> Callable[[M], M]:
    """Run a view's method, with the `access` as argument, under the database guard: it only reads and writes rows of
    the caller's brand. A method that `writes` runs once per Idempotency-Key, in one transaction."""

    def decorated(method: M) -> M:
        @row_guard.marked(row_guard.OF_BRAND)
        @wraps(method)
        def guarded(view: Any, request: Request, *where: Any, **more: Any) -> Any:
            access = access_of(request, scope=scope, label=label, verb=verb)
            with row_guard.within([access.brand_id], user_id=access.user.pk if access.user else None):
                if not writes:
                    return method(view, request, access, *where, **more)
                return idempotent_requests.answer_once(
                    request, access, lambda: method(view, request, access, *where, **more)
                )

        return cast("M", guarded)

    return decorated
