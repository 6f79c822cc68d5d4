"""A customer's card for a wallet, and the logo that Google fetches for it."""

from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views import View
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import changing_own_brand, for_own_brand, principal_of
from brands.models.tenants import Brand
from core.api.file_views import FileView
from core.api.openapi.endpoint import BEARER, endpoint
from core.api.openapi.examples import data_example
from core.api.outputs import Output, data_output
from core.db import row_guard
from core.errors import NotFound, raises
from events import publishing
from loyalty.errors import MemberBlocked, UserNotEnrolled
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import Platform, WalletPass
from loyalty.points import accounts
from loyalty.wallets import images, issuers, passes, renders
from loyalty.wallets.apple import packages
from loyalty.wallets.cards import card_of, design_of
from loyalty.wallets.errors import WalletUnavailable
from loyalty.wallets.google import links
from loyalty.wallets.passes import Changed

FOR_EVER = "public, max-age=31536000, immutable"  # a new logo has a new URL


@raises(NotFound, UserNotEnrolled, MemberBlocked)
def member_of(request: Request) -> UserPoints:
    """The customer's account at the token's brand. Enrols the customer if the brand enrols automatically."""
    principal = principal_of(request, rate_limit="read")
    brand = get_object_or_404(Brand, pk=principal.brand_id)
    account = accounts.account_of(brand_id=brand.pk, user_id=principal.user_id)
    if account is None:
        if not brand.auto_enroll:
            raise UserNotEnrolled
        made = accounts.enrol(user_id=principal.user_id, brand_id=brand.pk, at=timezone.now())
        account = UserPoints.objects.get(pk=made)
    accounts.reject_closed(account.status)
    return account


class WalletsData(Output):
    apple = serializers.BooleanField()
    google = serializers.BooleanField()


WalletsOutput = data_output(WalletsData)


class Wallets(APIView):
    """The wallets for which the brand makes passes."""

    @endpoint(
        "list_wallets",
        tag="Wallets",
        summary="List the available wallets",
        needs=[BEARER],
        responses=WalletsOutput,
        examples=[data_example("Both", {"apple": True, "google": True})],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """Return for which wallets the token's brand issues cards now, to show the right buttons. Issues no card."""
        principal = principal_of(request, rate_limit="read")
        now = timezone.now()
        offered = {it.value: is_offered(principal.brand_id, it, now) for it in Platform}
        return Response(WalletsOutput.serialize(offered))


def is_offered(brand_id: int, platform: str, at: datetime) -> bool:
    try:
        with row_guard.brand_wide("an issuer's keys are shown to nobody, and it alone says whether there are passes"):
            issuers.usable(brand_id=brand_id, platform=platform, at=at)
    except WalletUnavailable:
        return False
    return True


class ApplePass(FileView):
    """The member's card as a signed pass."""

    @endpoint(
        "read_apple_pass",
        tag="Wallets",
        summary="Get my card for Apple Wallet",
        needs=[BEARER],
        calls=[member_of, issuers.usable],
        responses={(200, packages.CONTENT_TYPE): OpenApiTypes.BINARY},
    )
    @changing_own_brand
    def get(self, request: Request) -> HttpResponse:
        """Return the customer's card at the token's brand as a signed `.pkpass`, which a wallet updates automatically.

        A customer has one card per brand: repeating the call returns the same card with its current content.
        `WALLET_UNAVAILABLE` means that the brand issues no passes now; `details.reason` says why.
        """
        account, now = member_of(request), timezone.now()
        issuers.usable(brand_id=account.brand_id, platform=Platform.APPLE, at=now)
        issued, _new = passes.issue(account=account, platform=Platform.APPLE, at=now)
        wallet_pass = WalletPass.objects.get(pk=issued.pk)
        content = renders.apple_package(wallet_pass=wallet_pass, at=now)
        passes.mark_downloaded(wallet_pass=wallet_pass)
        headers = {"Content-Disposition": 'attachment; filename="card.pkpass"', "Cache-Control": "private, no-store"}
        return HttpResponse(content, content_type=packages.CONTENT_TYPE, headers=headers)


class SaveLinkData(Output):
    save_url = serializers.URLField(help_text="The link for the button; opening it adds the card to Google Wallet.")


SaveLinkOutput = data_output(SaveLinkData)


SAVE_LINK = {"save_url": "https://pay.google.com/gp/v/save/eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJnb29nbGUifQ.c2ln"}


class GooglePass(APIView):
    """The member's card as a save link."""

    @endpoint(
        "read_google_pass",
        tag="Wallets",
        summary="Get my card for Google Wallet",
        needs=[BEARER],
        calls=[member_of, issuers.usable],
        responses=SaveLinkOutput,
        examples=[data_example("A link", SAVE_LINK)],
    )
    @changing_own_brand
    def get(self, request: Request) -> Response:
        """Return a signed link that adds the customer's card at the token's brand to Google Wallet.

        Google stores the card from then on, and it is updated there. `WALLET_UNAVAILABLE` means that the brand issues
        no passes now; `details.reason` says why.
        """
        account, now = member_of(request), timezone.now()
        issuer = issuers.usable(brand_id=account.brand_id, platform=Platform.GOOGLE, at=now)
        issued, is_new = passes.issue(account=account, platform=Platform.GOOGLE, at=now)
        if is_new:  # the customer does not wait for the call to Google
            changed = Changed(issued.pk, account.user_id, issued.version, is_first=True)
            message = passes.refresh(changed, account.brand_id, wait_seconds=0)
            publishing.publish(messages=[message], brand_id=account.brand_id, at=now, once=True)
        wallet_pass = WalletPass.objects.get(pk=issued.pk)
        link = links.save_link(
            wallet_pass=wallet_pass,
            card=card_of(wallet_pass),
            keys=issuer.for_google,
            with_class=not issuer.design_pushed,
        )
        passes.mark_downloaded(wallet_pass=wallet_pass)
        return Response(SaveLinkOutput.serialize({"save_url": link}))


class GoogleLogo(View):
    """A brand's logo for Google Wallet: a square whose centre fits in a round mask."""

    http_method_names = ["get", "head"]

    def get(self, _request: HttpRequest, brand_id: int, name: str) -> HttpResponse:
        brand = Brand.objects.filter(pk=brand_id).first()
        design = design_of(brand) if brand else None
        if design is None or images.name_of(design) != name:
            raise Http404
        return HttpResponse(images.google_logo(design), content_type="image/png", headers={"Cache-Control": FOR_EVER})
