"""Without its tag a code of a signed batch is unknown at every endpoint, whatever its state."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.printing.qr import images
from authcodes.recalls import recalls
from events.models import Event
from tests.support import factories
from tests.support.api import error

RECALL_FIELDS = {"recall_id": "R-1", "contact": "help", "message": "Stop.", "reason": "Found."}


@pytest.fixture(autouse=True)
def _secrets(settings):
    settings.CODE_TAG_SECRETS = {1: "x" * 32}


def unexpired():
    return {}


def expired():
    return {"expiration_date": timezone.now().date() - timedelta(days=2), "at": timezone.now() - timedelta(days=9)}


@pytest.fixture(params=["live", "recalled", "expired", "unassigned", "used up"])
def signed_code(request, brand):
    """A code of a signed batch in each state that an endpoint could reveal."""
    settings = expired() if request.param == "expired" else unexpired()
    code = factories.code(brand, signed=True, assigned=request.param != "unassigned", **settings)
    if request.param == "recalled":
        recalls.recall_batch(batch=code.batch, at=timezone.now(), **RECALL_FIELDS)
    if request.param == "used up":
        type(code).objects.filter(pk=code.pk).update(scan_count=1, first_scan_at=timezone.now())
    return code


def without_ids(response):
    body = response.json()
    body.pop("scan_id", None)
    body.pop("request_id", None)
    return response.status_code, body


def endpoints(api, customer):
    """Each endpoint as a function of the scanned text."""
    customer_api, app = api.as_customer(customer), api.as_customer(customer).app()
    return {
        "scan as a guest": lambda text: api.post("auth-codes/scan", {"code": text}),
        "scan as a guest of the app": lambda text: api.app().post("auth-codes/scan", {"code": text}),
        "scan": lambda text: customer_api.post("auth-codes/scan", {"code": text}),
        "verify": customer_api.verify,
        "validate": lambda text: api.post("auth-codes/validate", {"code": text}),
        "validate as a customer": lambda text: customer_api.post("auth-codes/validate", {"code": text}),
        "campaign event": lambda text: app.credit(customer, text),
    }


def test_untagged_or_wrongly_tagged_code_is_answered_like_an_unknown_code(api, customer, signed_code):
    for name, endpoint in endpoints(api, customer).items():
        unknown = without_ids(endpoint("NO-SUCH-CODE"))
        for text in (signed_code.code, f"{signed_code.code}.00000000000"):
            assert without_ids(endpoint(text)) == unknown, name
    assert set(Scan.objects.values_list("reason", flat=True)) == {"unknown", "bad_tag"}


def test_scan_of_an_untagged_code_has_the_state_of_an_unknown_code(api, customer, signed_code, deliver_events):
    customer_api = api.as_customer(customer)
    scan_ids = [customer_api.verify(text).json()["scan_id"] for text in (signed_code.code, "NO-SUCH-CODE")]

    untagged, unknown = (customer_api.get(f"scans/{scan_id}").json() for scan_id in scan_ids)

    assert {**untagged, "scan_id": "", "timestamp": ""} == {**unknown, "scan_id": "", "timestamp": ""}


def test_untagged_codes_of_a_recalled_batch_lock_out_campaign_events(api, brand, customer, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code": "3/hour"}
    batch = factories.batch(brand, quantity=5, signed=True)
    recalls.recall_batch(batch=batch, at=timezone.now(), **RECALL_FIELDS)
    app = api.as_customer(customer).app()

    errors = [app.credit(customer, code).json()["error"] for code in batch.codes.all()]

    assert errors == ["AUTH_CODE_INVALID"] * 3 + ["RATE_LIMITED"] * 2


def test_accepted_scan_of_a_signed_code_earns_through_its_own_event(api, brand, customer, deliver_events):
    code = factories.code(brand, signed=True)

    api.as_customer(customer).verify(images.printed(code))
    deliver_events()

    assert Event.objects.get(detail_type="scan-auth").status == "done"
    assert factories.account(customer, brand).points == 10


def test_history_of_a_signed_code_accepts_no_tag_or_the_right_tag(api, brand):
    hub, code = api.hub(), factories.code(brand, signed=True)

    statuses = [
        hub.get(f"auth-codes/{text}/scans").status_code
        for text in (code.code, images.printed(code), f"{code}.00000000000", "NO-SUCH")
    ]

    assert statuses == [200, 200, 404, 404]


def test_history_of_a_plain_code_is_not_found_by_a_tag(api, brand):
    assert error(api.hub().get(f"auth-codes/{factories.code(brand)}.00000000000/scans")) == (404, "NOT_FOUND")
