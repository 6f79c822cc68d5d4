"""Reports of products that may be fakes."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from authcodes.api.scan_caller import ScanCaller
from authcodes.api.scan_serializers import WHAT_IS_A_CODE
from authcodes.fraud import fake_reports
from brands.scanned import MAX_INPUT_LENGTH
from core.api.inputs import Input
from core.api.openapi.endpoint import BEARER, KEY, KEY_AND_BEARER, endpoint
from core.api.openapi.examples import answer_example, request_example
from core.api.outputs import Output, SuccessField
from core.errors import AuthenticationRequired
from core.redis import rate_limits


class FakeReportInput(Input):
    code = serializers.CharField(max_length=MAX_INPUT_LENGTH, help_text=WHAT_IS_A_CODE)
    place = serializers.CharField(max_length=200, help_text="The shop or place where the product was bought or seen.")
    remark = serializers.CharField(required=False, max_length=2000, allow_blank=True)
    contact = serializers.CharField(
        required=False,
        max_length=200,
        allow_blank=True,
        help_text="Phone number or e-mail address, if the brand may contact the reporter.",
    )


class FakeReportOutput(Output):
    success = SuccessField()
    report_id = serializers.IntegerField(source="pk")


REPORT_FAKE_EXAMPLES = [
    request_example(
        "A shop",
        {
            "code": "ALP0000004711",
            "place": "Market stall, Kreuzberg",
            "remark": "The print is blurred.",
            "contact": "ada@example.com",
        },
    ),
    answer_example("Reported", {"success": True, "report_id": 12}),
]


class FakeReports(APIView):
    """Reports of products that may be fakes."""

    permission_classes = (AllowAny,)

    @endpoint(
        "report_fake",
        tag="Scanning",
        summary="Report a suspected fake",
        needs=[BEARER, KEY, KEY_AND_BEARER],
        request=FakeReportInput,
        responses={201: FakeReportOutput},
        examples=REPORT_FAKE_EXAMPLES,
    )
    def post(self, request: Request) -> Response:
        """Report a product that may be a fake to the brand of the API key or access token.

        The answer is the same for every code, even if the code does not exist or belongs to another brand. Reports can
        be anonymous. A report sent with an access token is erased with the customer's data. The number of reports
        per customer and per network is limited.
        """
        caller = ScanCaller(request)
        if caller.brand_id is None:
            raise AuthenticationRequired
        rate_limits.hit("fake_report", caller.brand_id, caller.identity)
        if caller.user_id is not None:
            rate_limits.hit("fake_report", caller.brand_id, f"address:{caller.address}")
        data = FakeReportInput.parse(request.data)
        made = fake_reports.report(
            brand_id=caller.brand_id,
            scanned=data["code"],
            place=data["place"],
            remark=data.get("remark", ""),
            contact=data.get("contact", ""),
            user_id=caller.user_id,
            at=timezone.now(),
        )
        return Response(FakeReportOutput.serialize(made), status=201)
