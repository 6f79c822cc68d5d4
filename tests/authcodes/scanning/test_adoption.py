"""A guest's scan that becomes a customer's: with its token, in time, once, and the points follow."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.errors import ScanNotAdoptable
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import guest_scans, guest_tokens, record, types
from authcodes.scanning import scan as scanning
from campaigns.models.campaigns import UserLoyaltyCampaign
from events import messages, worker
from events.models import Event
from loyalty.members import confirmations
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories
from tests.support.api import Api, error
from tests.support.concurrency import at_once
from tests.support.statements import altered

REFUSED = (409, "SCAN_NOT_ADOPTABLE")


@pytest.fixture
def guest_scan(api):
    """Scans as a guest of the brand's app; the answer."""

    def scan(code, **body):
        return api.app().post("auth-codes/scan", {"code": str(code), **body}).json()

    return scan


def adopt(caller, answer, **changed):
    return caller.post(f"scans/{answer['scan_id']}/adopt", {"scan_token": answer["scan_token"], **changed})


def balance(customer, brand):
    return factories.account(customer, brand).points


def test_a_guest_who_logs_in_gets_the_points_of_the_scan(api, brand, customer, guest_scan, deliver):
    code = factories.code(brand)
    answer = guest_scan(code)

    adopted = adopt(api.as_customer(customer), answer)
    deliver()

    assert (adopted.status_code, adopted.json()["points_status"]) == (200, "pending")
    scan = Scan.objects.get()
    assert (scan.user_id, scan.points_status, scan.points_awarded) == (customer.pk, "awarded", 10)
    assert balance(customer, brand) == 10
    assert LoyaltyTransaction.objects.get().reason_id == code.code
    code.refresh_from_db()
    assert code.scan_count == 1


def test_somebody_who_registers_only_now_gets_them_too(api, brand, guest_scan, deliver):
    answer, app = guest_scan(factories.code(brand)), api.app()
    registration = app.post("auth/register", {"email": "new@example.com", "password": "a long pass phrase"}).json()
    code = confirmations.code_of(uuid.UUID(registration["registration_id"]))
    proof = {"registration_id": registration["registration_id"], "code": code}
    tokens = app.post("auth/register/confirm", proof).json()

    adopt(app.having(authorization=f"Bearer {tokens['access']}"), answer)
    deliver()

    assert [line.points_earned for line in LoyaltyTransaction.objects.all()] == [10]


def test_the_campaign_counts_the_scan(api, brand, customer, guest_scan, deliver):
    campaign = factories.campaign(brand)
    answer = guest_scan(factories.code(brand, campaign=campaign))

    adopt(api.as_customer(customer), answer)
    deliver()

    assert UserLoyaltyCampaign.objects.get(campaign=campaign, user=customer).progress == 1


def test_the_same_customer_may_repeat_it_and_earns_once(api, brand, customer, guest_scan, deliver):
    answer, customer_api = guest_scan(factories.code(brand)), api.as_customer(customer)

    first = adopt(customer_api, answer)
    deliver()
    again = adopt(customer_api, answer)
    deliver()

    assert (first.json()["points_status"], again.json()["points_status"]) == ("pending", "awarded")
    assert balance(customer, brand) == 10


def test_another_customer_comes_too_late(api, brand, customer, guest_scan):
    answer = guest_scan(factories.code(brand))
    adopt(api.as_customer(customer), answer)

    assert error(adopt(api.as_customer(factories.customer(brand)), answer)) == REFUSED
    assert Scan.objects.get().user == customer


@pytest.mark.parametrize("token", ["", "x", "1w1K0v:c2ln", ":", "a" * 200, "é", "\u2028"])
def test_without_the_token_nobody_gets_it(api, brand, customer, guest_scan, token):
    answer = guest_scan(factories.code(brand))

    refused = adopt(api.as_customer(customer), answer, scan_token=token)

    assert error(refused) == ((400, "VALIDATION_ERROR") if not token.strip() else REFUSED)
    assert Scan.objects.get().user is None


def test_the_token_of_another_scan_does_not_fit(api, brand, customer, guest_scan):
    one, other = guest_scan(factories.code(brand)), guest_scan(factories.code(brand))

    assert error(adopt(api.as_customer(customer), one, scan_token=other["scan_token"])) == REFUSED


def test_the_token_ends(api, brand, customer, guest_scan, time_machine):
    answer = guest_scan(factories.code(brand))

    time_machine.move_to(timezone.now() + timedelta(minutes=31))

    assert error(adopt(api.as_customer(customer), answer)) == REFUSED


def test_a_guest_cannot_adopt_and_a_customer_of_another_brand_finds_nothing(api, brand, guest_scan):
    answer, other = guest_scan(factories.code(brand)), factories.brand()
    stranger = Api(other).as_customer(factories.customer(other))

    assert error(adopt(api, answer)) == (401, "AUTHENTICATION_REQUIRED")
    assert error(adopt(stranger, answer)) == (404, "NOT_FOUND")


def test_a_customers_own_scan_has_no_token_and_is_nobody_elses(api, brand, customer):
    answer = api.as_customer(customer).verify(factories.code(brand)).json()
    token = guest_tokens.token_of(Scan.objects.get().pk, scanned_at=timezone.now())

    other = api.as_customer(factories.customer(brand))

    assert "scan_token" not in answer
    assert error(adopt(other, {**answer, "scan_token": token})) == REFUSED


def test_what_would_earn_nothing_cannot_be_adopted(api, brand, customer, guest_scan):
    code = factories.code(brand)
    guest_scan(code)
    seen_before = guest_scan(code)

    assert (seen_before["status"], seen_before["reason"]) == ("warning", "reserved")
    assert error(adopt(api.as_customer(customer), seen_before)) == REFUSED


def test_a_product_that_was_recalled_meanwhile_earns_nothing(api, brand, customer, guest_scan, deliver):
    code = factories.code(brand)
    answer = guest_scan(code)
    recall_fields = {"recall_id": "R-1", "contact": "help", "message": "Stop.", "reason": "Found."}
    recalls.recall_batch(batch=code.batch, at=timezone.now(), **recall_fields)

    adopted = adopt(api.as_customer(customer), answer)
    deliver()

    assert adopted.json()["points_status"] == "not_eligible"
    assert balance(customer, brand) == 0


def test_a_customer_who_had_the_points_of_this_code_gets_no_more(api, brand, customer, guest_scan, deliver):
    code, customer_api = factories.code(brand, scan_limit=None), api.as_customer(customer)
    customer_api.verify(code)
    deliver()

    adopted = adopt(customer_api, guest_scan(code))
    deliver()

    assert adopted.json()["points_status"] == "already_claimed"
    assert balance(customer, brand) == 10


def test_an_event_of_somebody_elses_with_the_scans_id_is_no_server_error(api, brand, customer, guest_scan):
    answer = guest_scan(factories.code(brand))
    Event.objects.create(
        event_id=answer["scan_id"],
        source="service.customer-app",
        detail_type="x",
        brand=brand,
        status="done",
        detail={},
    )

    assert error(adopt(api.as_customer(customer), answer)) == REFUSED
    assert Scan.objects.get().user is None


def test_the_token_says_nothing_about_the_secret_it_is_made_with(settings, guest_scan, brand):
    answer = guest_scan(factories.code(brand))

    settings.SECRET_KEY = "another secret of at least fifty characters, 0123456789"

    assert not guest_tokens.proves(answer["scan_token"], scan_id=answer["scan_id"])


# --- Where it was ----------------------------------------------------------------------------------------------------
PARIS = {"latitude": 48.8566, "longitude": 2.3522}


def place(caller, answer, **body):
    return caller.post(f"scans/{answer['scan_id']}/place", body)


def test_a_guest_tells_afterwards_where_it_was(api, brand, guest_scan):
    code = factories.code(brand)
    answer = guest_scan(code)

    response = place(api, answer, **PARIS, scan_token=answer["scan_token"])

    assert response.status_code == 200
    assert Scan.objects.get().location.startswith("Paris, ")
    code.refresh_from_db()
    assert code.first_scan_location.startswith("Paris, ")


def test_a_customer_needs_no_token_for_their_own_scan(api, brand, customer):
    customer_api = api.as_customer(customer)
    answer = customer_api.verify(factories.code(brand)).json()

    assert place(customer_api, answer, **PARIS).status_code == 200
    assert Scan.objects.get().latitude == PARIS["latitude"]


def test_a_place_is_told_once(api, brand, customer):
    customer_api = api.as_customer(customer)
    answer = customer_api.verify(factories.code(brand), **PARIS).json()

    place(customer_api, answer, latitude=0, longitude=0)

    assert Scan.objects.get().latitude == PARIS["latitude"]


def test_nobody_else_tells_where_it_was_and_nobody_too_late(api, brand, customer, guest_scan, time_machine):
    guests = guest_scan(factories.code(brand))
    own_scan = api.as_customer(customer).verify(factories.code(brand)).json()
    other = api.as_customer(factories.customer(brand))

    assert error(place(api, guests, **PARIS)) == (404, "NOT_FOUND")
    assert error(place(other, own_scan, **PARIS)) == (404, "NOT_FOUND")
    time_machine.move_to(timezone.now() + timedelta(minutes=31))
    assert error(place(api, guests, **PARIS, scan_token=guests["scan_token"])) == (404, "NOT_FOUND")
    assert not Scan.objects.filter(latitude__isnull=False).exists()


@pytest.mark.parametrize("wrong", [{"latitude": 91}, {"longitude": -181}, {"latitude": None}, {"latitude": "1"}])
def test_a_place_that_is_none_is_refused(api, brand, guest_scan, wrong):
    answer = guest_scan(factories.code(brand))

    refused = place(api, answer, **PARIS | wrong, scan_token=answer["scan_token"])

    assert error(refused) == (400, "VALIDATION_ERROR")


# --- Many at once ----------------------------------------------------------------------------------------------------
ROUNDS = 20


@pytest.fixture
def racing_brand(transactional_db):
    made = factories.brand()
    factories.level(made)
    return made


def adopted_at_once(brand):
    """How many of twelve customers were told that the scan is theirs now."""
    context = types.ScanContext(at=timezone.now(), brand_id=brand.pk)
    scan = Scan.objects.get(pk=scanning.scan(scanned=factories.code(brand).code, context=context).scan_id)

    def claim(customer):
        guest_scans.adopt(scan=scan, user_id=customer.pk, at=timezone.now())

    results = at_once(claim, [factories.customer(brand) for _ in range(12)])
    assert all(result is None or isinstance(result, ScanNotAdoptable) for result in results)
    return results.count(None)


@pytest.mark.django_db(transaction=True)
def test_of_many_customers_with_the_same_token_one_gets_the_points(racing_brand):
    assert [adopted_at_once(racing_brand) for _ in range(3)] == [1, 1, 1]

    worker.drain()

    assert UserPoints.objects.filter(points=10).count() == 3
    assert LoyaltyTransaction.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_control_without_the_condition_several_are_told_so(racing_brand, monkeypatch):
    guard = "AND user_id IS NULL AND points_status = 'guest'"
    unguarded = altered(guest_scans.ADOPT_SCAN, (guard, ""))
    # An event with the scan's own id, which exists once, would be a second guard: here each has an id of its own.
    monkeypatch.setattr(guest_scans, "ADOPT_SCAN", unguarded)
    monkeypatch.setattr(record, "scan_event", lambda *_: messages.NewEvent(kind="x", payload={}, arguments={}))

    assert any(adopted_at_once(racing_brand) > 1 for _ in range(ROUNDS))
