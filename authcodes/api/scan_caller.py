"""The scanning customer, or a guest at a network address."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework.request import Request

from authcodes.models.scans import Scan
from authcodes.scanning import evaluate, guessing_exemptions
from authcodes.scanning.types import ScanLocation
from brands.errors import BrandMismatch, UserNotFound
from brands.identity import guessing
from brands.identity.api_keys import Caller
from brands.identity.authentication import active_user, caller_of
from brands.identity.guessing import Guesser
from brands.identity.tokens import Principal
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from brands.scanned import ParsedCode, read
from core.api.idempotency import idempotency_key, idempotent_id
from core.errors import Forbidden, Invalid, TokenInvalid, raises
from core.web import client_address
from loyalty.points import accounts


class ScanCaller:
    """The scanning customer or guest, identified by the request's token and key."""

    def __init__(
        self, request: Request, *, rate_limit: str = "ingest", scope: ApiKey.Scope = ApiKey.Scope.EVENTS
    ) -> None:
        """Raises Forbidden for a hub key without the scope."""
        self.caller: Caller | None = caller_of(request, rate_limit=rate_limit)
        if self.caller and self.caller.is_hub:
            self.caller.require(scope)
        self.principal: Principal | None = request.auth if isinstance(request.auth, Principal) else None
        if self.caller and self.principal and self.caller.brand_id != self.principal.brand_id:
            raise BrandMismatch
        self.address = client_address.client_address(request)
        self.user_id: int | None = self.principal.user_id if self.principal else None

    @raises(Forbidden, UserNotFound, TokenInvalid)
    def scanning_for(self, customer_id: str) -> None:
        """Use the stated customer, if the caller may state one."""
        self.user_id = self._user_id(customer_id)
        # The scan's own statement only checks the customer who scans.
        if self.principal and self.token is None and not active_user(self.principal.user_id, self.principal):
            raise TokenInvalid

    @property
    def token(self) -> Principal | None:
        """The token of the scanning customer; None if the bearer is someone else."""
        return self.principal if self.principal and self.principal.user_id == self.user_id else None

    @property
    def brand_id(self) -> int | None:
        """The brand of the key or token; None without either."""
        known = self.caller or self.principal
        return known.brand_id if known else None

    @property
    def identity(self) -> str:
        """What limits are counted by: the customer, else a hub's brand, else the address."""
        if self.user_id is not None:
            return f"user:{self.user_id}"
        return f"hub:{self.brand_id}" if self.caller and self.caller.is_hub else f"address:{self.address}"

    def _user_id(self, customer_id: str) -> int | None:
        """A hub may state any of its customers, others only the bearer. Without a stated customer, it is the bearer."""
        own = self.principal.user_id if self.principal else None
        if not customer_id or customer_id == str(own):
            return own
        if self.caller is None or not self.caller.is_hub:
            if own is None:
                return None
            raise Forbidden(_("customer_id is not the user of the access token."))
        return self._customer_of_hub(self.caller, customer_id)

    def _customer_of_hub(self, caller: Caller, customer_id: str) -> int:
        # A number in the range of ids may belong to no customer; anything else is invalid input.
        if not (customer_id.isascii() and customer_id.isdigit()) or int(customer_id) >= 2**63:
            raise Invalid(_("customer_id must be the number of a customer."), details={"field": "customer_id"})
        if accounts.find(brand=Brand.objects.get(pk=caller.brand_id), user_id=int(customer_id)) is None:
            raise UserNotFound
        return int(customer_id)

    def place(self, location: dict[str, Any] | None) -> ScanLocation:
        """Where the scan is. City and region are shown to others, so they are accepted only from a hub."""
        place = ScanLocation.of(location)
        return place if self.caller and self.caller.is_hub else replace(place, city="", region="")

    @property
    def guesser(self) -> Guesser:
        return Guesser(self.identity, self.address, self.brand_id)

    def check_limits(self, scanned: str = "") -> None:
        """Raises RateLimited after too many scans or different plain codes, or during a lockout for unknown codes."""
        if self.caller and self.caller.is_hub:  # counted with its key
            return
        # Text without a code may be the payload of a code printed elsewhere, which can be guessed too.
        reading = read(scanned) or (ParsedCode(scanned.strip(), "") if scanned.strip() else None)
        exemptions = guessing_exemptions.exemptions(reading=reading, user_id=self.user_id, brand_id=self.brand_id)
        guessing.check(self.guesser, reading=reading, exemptions=exemptions, calls="scan")

    def note(self, reason: Scan.Reason) -> None:
        """Count an invalid code against the caller, because sequential codes can be guessed."""
        if evaluate.OUTCOMES.get(reason) is None and not (self.caller and self.caller.is_hub):
            guessing.count_unknown(self.guesser)

    def scan_id(self, request: Request) -> UUID | None:
        """The scan id derived from the Idempotency-Key."""
        key = idempotency_key(request)
        caller = (self.identity, self.brand_id, self.caller and self.caller.kind)
        return idempotent_id("scan", request.path, *caller, key) if key else None
