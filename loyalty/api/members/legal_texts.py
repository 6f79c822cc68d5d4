"""Legal texts of the brand, and the customer's own consents."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.identity.authentication import changing_own_brand, for_own_brand, principal_of
from brands.identity.tokens import Principal
from brands.models.legal_texts import LegalText
from brands.models.tenants import Brand
from brands.tenants import legal_texts
from core import languages
from core.api.inputs import ID, Input
from core.api.openapi.endpoint import BEARER, KEY, PUBLIC, endpoint
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, SuccessField, TimestampField
from core.api.tokenless_views import TokenlessView
from core.errors import Invalid
from core.redis import rate_limits
from core.web import client_address
from loyalty.api.members.sessions import ORIGIN_PARAMETER, brand_of_request, named_brand
from loyalty.members import consents

TEXT = {"id": 7, "kind": "terms", "version": 2, "language": "en", "text": "These terms …", "valid_from": WHEN}
# A customer agrees to one text of each kind.
MAX_TEXTS = len(LegalText.Kind.values)


class LegalTextData(Output):
    id = serializers.IntegerField(source="pk")
    kind = serializers.ChoiceField(
        choices=LegalText.Kind.values, help_text="`consent`: the sentence next to the checkbox."
    )
    version = serializers.IntegerField(help_text="The same in every language; a newer version has a higher number.")
    language = serializers.ChoiceField(
        choices=LegalText.Language.values, help_text="The requested language, if the brand has the text in it."
    )
    text = serializers.CharField(help_text="Plain text; an empty line separates paragraphs.")
    valid_from = TimestampField()


class LegalTextsOutput(Output):
    success = SuccessField()
    data = LegalTextData(source="*", many=True)  # type: ignore[assignment]


class AgreementData(Output):
    text = LegalTextData()
    agreed_at = TimestampField(allow_null=True, help_text="Null if the customer has not agreed to this version yet.")


class ConsentsOutput(Output):
    success = SuccessField()
    data = AgreementData(source="*", many=True)  # type: ignore[assignment]


class ConsentInput(Input):
    legal_texts = serializers.ListField(
        child=serializers.IntegerField(**ID),
        allow_empty=False,
        max_length=MAX_TEXTS,
        help_text="The ids of the texts that the customer was shown: one of each kind in force.",
    )


class LegalTexts(TokenlessView):
    """The brand's texts in force."""

    @endpoint(
        "read_legal_texts",
        tag="Tokens",
        summary="Read the legal texts in force",
        needs=[PUBLIC, KEY],
        calls=[named_brand],
        parameters=[ORIGIN_PARAMETER],
        responses=LegalTextsOutput,
        examples=[data_example("Terms", [TEXT])],
    )
    def get(self, request: Request) -> Response:
        """Return the brand's terms, privacy notice and consent in force, to show before a customer registers.

        Each text is in the language of the answer, else in English, else in any. The brand is that of the `api-key`,
        else the one whose hostname was called. The list is empty if the brand has no texts here.
        """
        rate_limits.hit("read", client_address.client_address(request))
        brand = brand_of_request(request, named=named_brand(request, stated=None))
        if brand is None:
            raise Invalid(_("Send the api-key of the brand's app, or call one of the brand's hostnames."))
        texts = legal_texts.in_force(brand=brand, language=languages.decide(), at=timezone.now())
        return Response(LegalTextsOutput.serialize(texts))


class Consents(APIView):
    """What the customer agreed to."""

    @endpoint(
        "read_consents",
        tag="Account",
        summary="Read my consents",
        needs=[BEARER],
        responses=ConsentsOutput,
        examples=[data_example("Agreed", [{"text": TEXT, "agreed_at": WHEN}])],
    )
    @for_own_brand
    def get(self, request: Request) -> Response:
        """List the texts in force at the token's brand, and when the customer agreed to their current versions."""
        principal = principal_of(request, rate_limit="read")
        return Response(ConsentsOutput.serialize(self.agreements(principal)))

    @endpoint(
        "give_consent",
        tag="Account",
        summary="Agree to the texts in force",
        needs=[BEARER],
        request=ConsentInput,
        responses={201: ConsentsOutput},
        examples=[
            request_example("Terms", {"legal_texts": [7]}),
            data_example("Agreed", [{"text": TEXT, "agreed_at": WHEN}]),
        ],
    )
    @changing_own_brand
    def post(self, request: Request) -> Response:
        """Record that a customer with an account agrees to the texts in force, and when.

        Use it when a text has a new version, or the brand is new to the customer. If the customer has agreed to all of
        them already, nothing changes.
        """
        principal = principal_of(request, rate_limit="read")
        data = ConsentInput.parse(request.data)
        brand = Brand.objects.get(pk=principal.brand_id)
        consents.give(user_id=principal.user_id, brand=brand, text_ids=data["legal_texts"], at=timezone.now())
        return Response(ConsentsOutput.serialize(self.agreements(principal)), status=201)

    def agreements(self, principal: Principal) -> list[Any]:
        brand = Brand.objects.get(pk=principal.brand_id)
        at = timezone.now()
        return consents.agreements(user_id=principal.user_id, brand=brand, language=languages.decide(), at=at)
