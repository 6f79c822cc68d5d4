"""Identifies who sends a request: the bearer's user, the API key's holder, the member of staff."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from brands.errors import ApiKeyInvalid
from brands.identity import api_keys, roles, tokens
from brands.identity.tokens import Principal
from brands.models.people import StaffRole, User
from brands.tenants import request_brands
from core import languages
from core.db import row_guard, sql
from core.errors import CHALLENGE, TokenInvalid
from core.redis import rate_limits
from core.web import client_address

M = TypeVar("M", bound=Callable[..., Any])

# In the order of the model's fields, as User.from_db requires; the other fields are loaded on access.
USER_FIELDS = [
    "id",
    "is_superuser",
    "email",
    "first_name",
    "last_name",
    "registered_brand_id",
    "is_staff",
    "is_active",
]
STANDS = tokens.STANDS.format(**tokens.PLACES)
LOAD_USER = f"SELECT {', '.join(USER_FIELDS)} FROM brands_user u WHERE id = %(user_id)s::bigint AND {STANDS}"  # noqa: S608


class Bearer:
    """The user that a token names, before it is checked that they are active."""

    is_authenticated = True

    def __init__(self, user_id: int) -> None:
        self.pk = user_id


class BearerToken(BaseAuthentication):
    """`Authorization: Bearer <access token>`. Sets `request.user`, and `request.auth` to the token's Principal."""

    def authenticate(self, request: Request) -> tuple[User | Bearer, tokens.Principal] | None:
        """None without the header. Raises TokenInvalid for any other scheme, and for an inactive or deleted user."""
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        principal = tokens.verify_access(bearer(header))
        languages.note_brand(brand_id=principal.brand_id, user_id=principal.user_id)
        user = self.load(principal)
        request_brands.note(request_brands.TOKEN, (principal.brand_id,))
        return user, principal

    def load(self, principal: tokens.Principal) -> User | Bearer:
        """Raises TokenInvalid."""
        user = active_user(principal.user_id, principal)
        if user is None:
            raise TokenInvalid
        return user

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class UnseenBearer(BearerToken):
    """For views whose first statement also reads the user, and raises TokenInvalid for an inactive one."""

    def load(self, principal: tokens.Principal) -> Bearer:
        return Bearer(principal.user_id)


def for_own_brand(method: M) -> M:
    """Run a view's method, which only reads, under the database guard: it sees rows of the token's customer, and what
    the token's brand shows to all of its customers."""

    @row_guard.marked(row_guard.OF_CUSTOMER)
    @wraps(method)
    def guarded(view: Any, request: Request, *where: Any, **more: Any) -> Any:
        token = principal_of(request)
        with row_guard.as_customer(token.brand_id, token.user_id):
            return method(view, request, *where, **more)

    return cast("M", guarded)


def changing_own_brand(method: M) -> M:
    """Run a view's method, which changes rows, under the database guard: it reads and writes only rows of the token's
    brand and the user. Notifying others of a change needs the brand's rows, so it sees more than a reader."""

    @row_guard.marked(row_guard.OF_BRAND)
    @wraps(method)
    def guarded(view: Any, request: Request, *where: Any, **more: Any) -> Any:
        token = principal_of(request)
        with row_guard.within([token.brand_id], user_id=token.user_id):
            return method(view, request, *where, **more)

    return cast("M", guarded)


def for_brand_of_hub(scope: str) -> Callable[[M], M]:
    """Run a view's method, with the `caller` as argument, under the database guard: it only reads and writes rows of
    the hub key's brand. A call counts against the rate limit of hub submissions.

    Raises ApiKeyInvalid without a key, and Forbidden for a key that is not a hub's or lacks the scope.
    """

    def decorated(method: M) -> M:
        @row_guard.marked(row_guard.OF_BRAND)
        @wraps(method)
        def guarded(view: Any, request: Request, *where: Any, **more: Any) -> Any:
            caller = required_caller(request, rate_limit="ingest")
            caller.require(scope)
            with row_guard.within([caller.brand_id]):
                return method(view, request, caller, *where, **more)

        return cast("M", guarded)

    return decorated


# For pages that staff read in the browser (session cookie) and programs read with a token. The first one provides the
# challenge of a 401 answer.
SESSION_OR_BEARER: list[type[BaseAuthentication]] = [BearerToken, SessionAuthentication]


def bearer(header: str) -> str:
    """The token in an Authorization header, or in an event's `authorization`. Raises TokenInvalid."""
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise TokenInvalid
    return token.strip()


def active_user(user_id: int, token: tokens.Principal | None = None) -> User | None:
    """Load the user, in one small statement. None if deleted or deactivated, or if `token` has ended."""
    values = sql.row(LOAD_USER, {"user_id": user_id, **tokens.parameters(token)})
    if values is None:
        return None
    user = User.from_db("default", USER_FIELDS, values)
    return user if user.is_active else None


def caller_of(request: Request | HttpRequest, *, rate_limit: str = "") -> api_keys.Caller | None:
    """The owner of the `api-key` header; None without it. A hub's call also counts against `rate_limit`, in the same
    round trip.

    Raises ApiKeyInvalid for an unusable key, and RateLimited above the limit of a brand's keys of this kind, or of a
    network's app keys.
    """
    raw = request.META.get("HTTP_API_KEY")
    if raw is None:
        return None
    caller = api_keys.find(raw, at=timezone.now())
    if caller.is_hub:
        http_request: Any = getattr(request, "_request", request)
        http_request.hub_key_id = caller.key_id  # for the log of its calls, rejected ones too
    if caller.networks and not caller.may_call_from(client_address.exact_address(request.META)):
        raise ApiKeyInvalid(_("This key may not be used from this network."))
    if caller.is_hub:
        languages.use_english()
        rate_limits.hit_brand(caller.brand_id, other_limit=rate_limit)
    else:
        languages.note_brand(brand_id=caller.brand_id)
        rate_limits.hit_brand(caller.brand_id, app_network=client_address.client_address(request))
    return caller


def required_caller(request: Request | HttpRequest, *, rate_limit: str = "") -> api_keys.Caller:
    """The owner of the `api-key` header. Raises ApiKeyInvalid if it is missing or unusable."""
    caller = caller_of(request, rate_limit=rate_limit)
    if caller is None:
        raise ApiKeyInvalid
    return caller


def staff_role(user: Any, brand_id: int) -> StaffRole.Role | None:
    """The role of `user` for the brand. A superuser owns every brand; a customer or a guest has no role."""
    if not (user.is_active and user.is_staff):
        return None
    if user.session_brand_id not in (None, brand_id):
        return None
    if user.is_superuser:
        return StaffRole.Role.OWNER
    role = StaffRole.objects.filter(user=user, brand_id=brand_id).values_list("role", flat=True).first()
    return StaffRole.Role(role) if role else None


def staff_may_read(
    user: Any, token: tokens.Principal | None, brand_id: int, label: str, verb: str = roles.VIEW
) -> bool:
    """Whether `user` may read the brand's rows of the model `label`, or do `verb` with them, by role as in the portal.

    An access token only gives access to the brand it was made for, except for superusers. One older than the
    password gives none: its holder may not be the person who became a member of staff.
    """
    role = staff_role(user, brand_id)
    if role and token and tokens.is_outdated(token, user):
        return False
    if role is None or user.is_superuser:
        return role is not None
    return (token is None or token.brand_id == brand_id) and roles.may(role, verb, label)


def principal_of(request: Request, *, rate_limit: str = "") -> Principal:
    """The token's user and brand; the view's permission guarantees that there is one.

    Raises RateLimited above the user's `rate_limit` at the brand, a name in settings.RATE_LIMITS.
    """
    assert isinstance(request.auth, Principal)  # noqa: S101 - BearerToken is the only authentication here
    if rate_limit:
        rate_limits.hit(rate_limit, request.auth.brand_id, request.auth.user_id)
    return request.auth
