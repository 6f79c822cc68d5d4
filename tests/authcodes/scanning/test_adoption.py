"""Adopting a guest's scan: with its token, in time and once, and its points are awarded to the customer."""

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
from tests.support.concurrency import run_concurrently
from tests.support.statements import with_replacements

NOT_ADOPTABLE = (409, "SCAN_NOT_ADOPTABLE")


@pytest.fixture
def guest_scan(api):
    """A function that scans as a guest of the brand's app and returns the answer."""

    def scan(code, **body):
        return api.app().post("auth-codes/scan", {"code": str(code), **body}).json()

    return scan


def adopt(caller, answer, **fields):
    return caller.post(f"scans/{answer['scan_id']}/adopt", {"scan_token": answer["scan_token"], **fields})


def balance(customer, brand):
    return factories.account(customer, brand).points


def test_a_guest_who_logs_in_gets_the_points_of_the_scan(api, brand, customer, guest_scan, deliver_events):
    code = factories.code(brand)
    answer = guest_scan(code)

    adopted = adopt(api.as_customer(customer), answer)
    deliver_events()

    assert (adopted.status_code, adopted.json()["points_status"]) == (200, "pending")
    scan = Scan.objects.get()
    assert (scan.user_id, scan.points_status, scan.points_awarded) == (customer.pk, "awarded", 10)
    assert balance(customer, brand) == 10
    assert LoyaltyTransaction.objects.get().reason_id == code.code
    code.refresh_from_db()
    assert code.scan_count == 1


def test_customer_who_registers_after_the_scan_gets_its_points(api, brand, guest_scan, deliver_events):
    answer, app = guest_scan(factories.code(brand)), api.app()
    registration = app.post("auth/register", {"email": "new@example.com", "password": "a long pass phrase"}).json()
    code = confirmations.code_of(uuid.UUID(registration["registration_id"]))
    proof = {"registration_id": registration["registration_id"], "code": code}
    tokens = app.post("auth/register/confirm", proof).json()

    adopt(app.with_headers(authorization=f"Bearer {tokens['access']}"), answer)
    deliver_events()

    assert [line.points_earned for line in LoyaltyTransaction.objects.all()] == [10]


def test_adopted_scan_counts_for_the_campaign(api, brand, customer, guest_scan, deliver_events):
    campaign = factories.campaign(brand)
    answer = guest_scan(factories.code(brand, campaign=campaign))

    adopt(api.as_customer(customer), answer)
    deliver_events()

    assert UserLoyaltyCampaign.objects.get(campaign=campaign, user=customer).progress == 1


@pytest.mark.parametrize(
    "place",
    [{"latitude": 48.8566, "longitude": 2.3522}, {"city": "Paris", "region": "Île-de-France"}],
    ids=["coordinates", "named by the hub"],
)
def test_adopted_scan_earns_by_its_city(api, brand, customer, deliver_events, place):
    in_paris = {"all": [{"field": "city", "operator": "in", "value": ["Paris"]}]}
    factories.earning_rule(brand, "scan-auth", value=7, reward_type="bonus", conditions=in_paris)
    answer = api.hub().post("auth-codes/scan", {"code": str(factories.code(brand)), "location": place}).json()

    adopt(api.as_customer(customer), answer)
    deliver_events()

    assert Scan.objects.get().points_promised == 17
    assert balance(customer, brand) == 17


def test_repeated_adoption_by_the_same_customer_earns_once(api, brand, customer, guest_scan, deliver_events):
    answer, customer_api = guest_scan(factories.code(brand)), api.as_customer(customer)

    first = adopt(customer_api, answer)
    deliver_events()
    second = adopt(customer_api, answer)
    deliver_events()

    assert (first.json()["points_status"], second.json()["points_status"]) == ("pending", "awarded")
    assert balance(customer, brand) == 10


def test_adopted_scan_cannot_be_adopted_by_another_customer(api, brand, customer, guest_scan):
    answer = guest_scan(factories.code(brand))
    adopt(api.as_customer(customer), answer)

    assert error(adopt(api.as_customer(factories.customer(brand)), answer)) == NOT_ADOPTABLE
    assert Scan.objects.get().user == customer


@pytest.mark.parametrize("token", ["", "x", "1w1K0v:c2ln", ":", "a" * 200, "é", "\u2028"])
def test_adoption_with_an_invalid_token_is_rejected(api, brand, customer, guest_scan, token):
    answer = guest_scan(factories.code(brand))

    response = adopt(api.as_customer(customer), answer, scan_token=token)

    assert error(response) == ((400, "VALIDATION_ERROR") if not token.strip() else NOT_ADOPTABLE)
    assert Scan.objects.get().user is None


def test_token_of_another_scan_is_rejected(api, brand, customer, guest_scan):
    first_scan, second_scan = guest_scan(factories.code(brand)), guest_scan(factories.code(brand))

    assert error(adopt(api.as_customer(customer), first_scan, scan_token=second_scan["scan_token"])) == NOT_ADOPTABLE


def test_expired_token_is_rejected(api, brand, customer, guest_scan, time_machine):
    answer = guest_scan(factories.code(brand))

    time_machine.move_to(timezone.now() + timedelta(minutes=31))

    assert error(adopt(api.as_customer(customer), answer)) == NOT_ADOPTABLE


def test_adoption_requires_a_customer_of_the_brand(api, brand, guest_scan):
    answer, other_brand = guest_scan(factories.code(brand)), factories.brand()
    other_brand_api = Api(other_brand).as_customer(factories.customer(other_brand))

    assert error(adopt(api, answer)) == (401, "AUTHENTICATION_REQUIRED")
    assert error(adopt(other_brand_api, answer)) == (404, "NOT_FOUND")


def test_scan_of_a_customer_has_no_token_and_cannot_be_adopted(api, brand, customer):
    answer = api.as_customer(customer).verify(factories.code(brand)).json()
    token = guest_tokens.token_of(Scan.objects.get().pk, scanned_at=timezone.now())

    other_customer_api = api.as_customer(factories.customer(brand))

    assert "scan_token" not in answer
    assert error(adopt(other_customer_api, {**answer, "scan_token": token})) == NOT_ADOPTABLE


def test_scan_that_would_earn_nothing_cannot_be_adopted(api, brand, customer, guest_scan):
    code = factories.code(brand)
    guest_scan(code)
    second_scan = guest_scan(code)

    assert (second_scan["status"], second_scan["reason"]) == ("warning", "reserved")
    assert error(adopt(api.as_customer(customer), second_scan)) == NOT_ADOPTABLE


def test_adoption_after_a_recall_earns_nothing(api, brand, customer, guest_scan, deliver_events):
    code = factories.code(brand)
    answer = guest_scan(code)
    recall_fields = {"recall_id": "R-1", "contact": "help", "message": "Stop.", "reason": "Found."}
    recalls.recall_batch(batch=code.batch, at=timezone.now(), **recall_fields)

    adopted = adopt(api.as_customer(customer), answer)
    deliver_events()

    assert adopted.json()["points_status"] == "not_eligible"
    assert balance(customer, brand) == 0


def test_adoption_of_an_already_claimed_code_earns_nothing(api, brand, customer, guest_scan, deliver_events):
    code, customer_api = factories.code(brand, scan_limit=None), api.as_customer(customer)
    customer_api.verify(code)
    deliver_events()

    adopted = adopt(customer_api, guest_scan(code))
    deliver_events()

    assert adopted.json()["points_status"] == "already_claimed"
    assert balance(customer, brand) == 10


def test_foreign_event_with_the_id_of_the_scan_prevents_its_adoption(api, brand, customer, guest_scan):
    answer = guest_scan(factories.code(brand))
    Event.objects.create(
        event_id=answer["scan_id"],
        source="service.customer-app",
        detail_type="x",
        brand=brand,
        status="done",
        detail={},
    )

    assert error(adopt(api.as_customer(customer), answer)) == NOT_ADOPTABLE
    assert Scan.objects.get().user is None


def test_token_is_invalid_with_another_secret_key(settings, guest_scan, brand):
    answer = guest_scan(factories.code(brand))

    settings.SECRET_KEY = "another secret of at least fifty characters, 0123456789"

    assert not guest_tokens.proves(answer["scan_token"], scan_id=answer["scan_id"])


# --- Location --------------------------------------------------------------------------------------------------------
PARIS = {"latitude": 48.8566, "longitude": 2.3522}


def send_location(caller, answer, **body):
    return caller.post(f"scans/{answer['scan_id']}/place", body)


def test_guest_can_send_the_location_after_the_scan(api, brand, guest_scan):
    code = factories.code(brand)
    answer = guest_scan(code)

    response = send_location(api, answer, **PARIS, scan_token=answer["scan_token"])

    assert response.status_code == 200
    assert Scan.objects.get().location.startswith("Paris, ")
    code.refresh_from_db()
    assert code.first_scan_location.startswith("Paris, ")


def test_customer_needs_no_token_to_send_the_location(api, brand, customer):
    customer_api = api.as_customer(customer)
    answer = customer_api.verify(factories.code(brand)).json()

    assert send_location(customer_api, answer, **PARIS).status_code == 200
    assert Scan.objects.get().latitude == PARIS["latitude"]


def test_location_of_a_scan_cannot_be_overwritten(api, brand, customer):
    customer_api = api.as_customer(customer)
    answer = customer_api.verify(factories.code(brand), **PARIS).json()

    send_location(customer_api, answer, latitude=0, longitude=0)

    assert Scan.objects.get().latitude == PARIS["latitude"]


def test_location_from_others_without_a_token_or_too_late_is_rejected(api, brand, customer, guest_scan, time_machine):
    guest_answer = guest_scan(factories.code(brand))
    customer_answer = api.as_customer(customer).verify(factories.code(brand)).json()
    other_customer_api = api.as_customer(factories.customer(brand))

    assert error(send_location(api, guest_answer, **PARIS)) == (404, "NOT_FOUND")
    assert error(send_location(other_customer_api, customer_answer, **PARIS)) == (404, "NOT_FOUND")
    time_machine.move_to(timezone.now() + timedelta(minutes=31))
    assert error(send_location(api, guest_answer, **PARIS, scan_token=guest_answer["scan_token"])) == (404, "NOT_FOUND")
    assert not Scan.objects.filter(latitude__isnull=False).exists()


@pytest.mark.parametrize("wrong", [{"latitude": 91}, {"longitude": -181}, {"latitude": None}, {"latitude": "1"}])
def test_invalid_location_is_rejected(api, brand, guest_scan, wrong):
    answer = guest_scan(factories.code(brand))

    response = send_location(api, answer, **PARIS | wrong, scan_token=answer["scan_token"])

    assert error(response) == (400, "VALIDATION_ERROR")


# --- Concurrency -----------------------------------------------------------------------------------------------------
ROUNDS = 20


@pytest.fixture
def racing_brand(transactional_db):
    brand = factories.brand()
    factories.level(brand)
    return brand


def count_concurrent_adoptions(brand):
    """How many of twelve concurrent adoptions of one scan succeed."""
    context = types.ScanContext(at=timezone.now(), brand_id=brand.pk)
    scan = Scan.objects.get(pk=scanning.scan(scanned=factories.code(brand).code, context=context).scan_id)

    def adopt_scan(customer):
        guest_scans.adopt(scan=scan, user_id=customer.pk, at=timezone.now())

    results = run_concurrently(adopt_scan, [factories.customer(brand) for _ in range(12)])
    assert all(result is None or isinstance(result, ScanNotAdoptable) for result in results)
    return results.count(None)


@pytest.mark.django_db(transaction=True)
def test_concurrent_adoptions_of_one_scan_give_points_to_one_customer(racing_brand):
    assert [count_concurrent_adoptions(racing_brand) for _ in range(3)] == [1, 1, 1]

    worker.drain()

    assert UserPoints.objects.filter(points=10).count() == 3
    assert LoyaltyTransaction.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_control_without_the_condition_several_adoptions_succeed(racing_brand, monkeypatch):
    guard = "AND user_id IS NULL AND points_status = 'guest'"
    without_condition = with_replacements(guest_scans.ADOPT_SCAN, (guard, ""))
    # Normally the event has the scan's unique id, which is a second guard; here each event has its own id.
    monkeypatch.setattr(guest_scans, "ADOPT_SCAN", without_condition)
    monkeypatch.setattr(record, "scan_event", lambda *_: messages.NewEvent(kind="x", payload={}, arguments={}))

    assert any(count_concurrent_adoptions(racing_brand) > 1 for _ in range(ROUNDS))
