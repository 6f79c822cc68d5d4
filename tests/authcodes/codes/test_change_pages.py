"""Changing many codes in the portal: asked, looked at, then done; a stretch, chosen ones, or one."""

import pytest
from django.db.models import Q
from django.utils import timezone

from authcodes.codes import bulk_changes
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.models.people import StaffRole
from core.db.advisory_locks import LOCK_PAIR, LockOfRow
from jobs.models import Job
from tests.authcodes.codes.change_pages import errors, messages, type_in
from tests.support import factories
from tests.support.locks import holding
from tests.support.portal import address, browser, links, staff, text

pytestmark = pytest.mark.django_db


ORDERS = ["assign", "unassign", "deactivate", "reactivate"]


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring")


@pytest.fixture
def product(brand):
    return factories.product(brand)


def send(client, batch, order, *buttons, **fields):
    sent = {"first": batch.first_code, "last": batch.last_code, **fields}
    if order != "assign":
        sent.setdefault("reason", "stolen")
    return client.post(address("authcodes.batchrange", order, batch.pk), {**sent, **dict.fromkeys(buttons, "1")})


@pytest.mark.parametrize("order", ORDERS)
def test_page_offers_the_whole_batch(client, batch, order):
    form = client.get(address("authcodes.batchrange", order, batch.pk)).context["form"]

    assert (form["first"].value(), form["last"].value()) == ("AB-0001", "AB-0010")


def test_preview_says_what_an_assignment_changes_and_changes_nothing(client, batch, product):
    answer = send(client, batch, "assign", "preview", first="3", product=product.pk, inventory_location="Shelf 4")

    assert (answer.context["changes"], answer.context["problem"]) == (8, "")
    shown = text(answer)
    assert "AB-0003 … AB-0010" in shown
    assert product.title in shown
    assert "Inventory location: Shelf 4" in shown
    assert not AuthCode.objects.filter(product__isnull=False).exists()


def test_confirmed_assignment_is_carried_out(client, owner, batch, product):
    given = {"inventory_location": "Shelf 4", "points_per_scan": 7, "notes": "first pallet"}

    answer = send(client, batch, "assign", "confirm", first="AB-0003", last="5", product=product.pk, **given)

    assert answer["Location"] == address("authcodes.batchrange", "change", batch.pk)
    assert "Assigned: 3" in messages(client, answer)
    codes = AuthCode.objects.filter(product=product)
    assert {(it.inventory_location, it.points_per_scan, it.notes) for it in codes} == {tuple(given.values())}
    assert CodeChange.objects.get(kind="assigned").changed_by == owner


def test_taken_and_scanned_codes_are_named_and_the_stretch_is_refused(client, batch, product):
    taken = batch.codes.get(code="AB-0004")
    AuthCode.objects.filter(pk=taken.pk).update(product=factories.product(batch.brand, title="Honey"))
    scan.scan(scanned=taken.code, context=ScanContext(at=timezone.now()))

    preview = send(client, batch, "assign", "preview", product=product.pk)
    answer = send(client, batch, "assign", "confirm", product=product.pk)

    assert preview.context["changes"] == 0
    assert "Auth code range already assigned: 1 code has another product" in text(preview)
    assert preview.context["preview"].taken_codes == [taken]
    assert preview.context["preview"].scanned_codes == [taken]
    assert "Honey" in text(preview)
    assert 'name="confirm"' not in text(preview)
    assert errors(answer)["__all__"][0].startswith("Auth code range already assigned: 1 of the codes")
    assert AuthCode.objects.filter(product__isnull=False).count() == 1


def test_going_back_keeps_what_was_written(client, batch, product):
    answer = send(client, batch, "assign", "edit", first="3", product=product.pk, notes="first pallet")

    form = answer.context["form"]
    assert (form["first"].value(), form["notes"].value()) == ("3", "first pallet")
    assert "preview" not in answer.context


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"first": "XX-1"}, "first"),
        ({"last": "11"}, "last"),
        ({"first": "5", "last": "4"}, "last"),
        ({"first": ""}, "first"),
        ({"product": ""}, "product"),
        ({"product": "x"}, "product"),
        ({"points_per_scan": -1}, "points_per_scan"),
        ({"points_per_scan": 2**31}, "points_per_scan"),
        ({"inventory_location": "x" * 121}, "inventory_location"),
        ({"notes": "a\0b"}, "notes"),
    ],
)
def test_assignment_that_cannot_be_is_refused_at_its_field(client, batch, product, wrong, field):
    for button in ("preview", "confirm"):
        answer = send(client, batch, "assign", button, **{"product": product.pk, **wrong})

        assert list(errors(answer)) == [field]
    assert not AuthCode.objects.filter(product__isnull=False).exists()


@pytest.mark.parametrize("order", ["unassign", "deactivate", "reactivate"])
@pytest.mark.parametrize("reason", ["", "  "])
def test_switching_needs_a_reason(client, batch, order, reason):
    assert list(errors(send(client, batch, order, "confirm", reason=reason))) == ["reason"]


def test_stretch_is_switched_off_and_on_with_its_reason(client, owner, batch):
    preview = send(client, batch, "deactivate", "preview", first="1", last="4")
    assert (preview.context["changes"], AuthCode.objects.deactivated().count()) == (4, 0)

    assert "Deactivated: 4" in messages(client, send(client, batch, "deactivate", "confirm", first="1", last="4"))
    assert send(client, batch, "deactivate", "preview").context["changes"] == 6
    assert "Reactivated: 1" in messages(client, send(client, batch, "reactivate", "confirm", first="4"))

    assert AuthCode.objects.deactivated().count() == 3
    lines = CodeChange.objects.exclude(kind="generated")
    assert [(line.kind, line.codes, line.reason, line.changed_by) for line in lines] == [
        ("reactivated", 1, "stolen", owner),
        ("deactivated", 4, "stolen", owner),
    ]


def test_change_of_nothing_is_not_offered(client, batch):
    preview = send(client, batch, "reactivate", "preview")

    assert preview.context["problem"] == "None of these codes would change."
    assert 'name="confirm"' not in text(preview)


def test_taking_back_an_assignment_stops_at_scanned_codes(client, brand):
    batch = factories.batch(brand, prefix="CD-", quantity=3)
    scan.scan(scanned="CD-0002", context=ScanContext(at=timezone.now()))

    assert "cannot be unassigned" in send(client, batch, "unassign", "preview").context["problem"]
    assert "has been scanned" in errors(send(client, batch, "unassign", "confirm"))["__all__"][0]
    send(client, batch, "unassign", "confirm", first="3")

    assert [code.code for code in AuthCode.objects.filter(product__isnull=True)] == ["CD-0003"]


def test_many_codes_are_changed_by_a_job(client, owner, batch, monkeypatch):
    monkeypatch.setattr(bulk_changes, "CODES_AT_ONCE", 9)

    preview = send(client, batch, "deactivate", "preview")
    answer = send(client, batch, "deactivate", "confirm")

    job = Job.objects.get()
    assert preview.context["as_job"]
    assert answer["Location"] == address("jobs.job", "change", job.pk)
    assert (job.kind, job.total, job.created_by, job.brand) == ("change-codes", 10, owner, batch.brand)
    assert not AuthCode.objects.deactivated().exists()


@pytest.mark.parametrize("order", ORDERS)
def test_another_brands_batch_does_not_exist(client, order):
    zebra = factories.batch(factories.brand(), quantity=2)

    assert send(client, zebra, order, "confirm").status_code == 404
    assert client.get(address("authcodes.batchrange", order, zebra.pk)).status_code == 404
    assert not CodeChange.objects.exclude(kind="generated").exists()


def test_another_brands_product_is_no_choice(client, batch):
    zebra = factories.product(factories.brand())

    answer = send(client, batch, "assign", "confirm", product=zebra.pk)

    assert list(errors(answer)) == ["product"]


def test_who_works_for_both_brands_does_not_mix_them(batch):
    zebra = factories.product(factories.brand())
    client = browser(staff(batch.brand, zebra.brand))

    assert list(errors(send(client, batch, "assign", "confirm", product=zebra.pk))) == ["product"]
    assert "not found" in type_in(client, zebra, "AB-0001", "confirm").context["lines"][0].error


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 200), ("support", 403)])
def test_roles_that_may_change_codes(batch, role, status):
    client = browser(staff(batch.brand, role=role))
    code = batch.codes.first()
    addresses = [address("authcodes.batchrange", order, batch.pk) for order in ORDERS]
    addresses += [address("authcodes.authcode", what, code.pk) for what in ("deactivate", "reactivate")]
    addresses += [address("authcodes.authcode", "assign")]

    assert {client.get(where).status_code for where in addresses} == {status}
    shown = text(client.get(address("authcodes.batchrange", "change", batch.pk)))
    assert (addresses[0] in shown) is (status == 200)
    assert (addresses[-1] in links(text(client.get(address("authcodes.authcode"))))) is (status == 200)


def test_owner_elsewhere_changes_nothing_here(batch):
    person = staff(factories.brand())
    StaffRole.objects.create(user=person, brand=batch.brand, role="support")

    assert send(browser(person), batch, "deactivate", "confirm").status_code == 403
    assert not AuthCode.objects.deactivated().exists()


def switch(client, code, what, reason="stolen"):
    return client.post(address("authcodes.authcode", what, code.pk), {"reason": reason})


def test_one_code_is_switched_off_and_on_from_its_page(client, owner, batch):
    code = batch.codes.get(code="AB-0004")

    assert "Deactivated: 1" in messages(client, switch(client, code, "deactivate"))
    assert list(AuthCode.objects.deactivated()) == [code]
    assert "Deactivated: 0" in messages(client, switch(client, code, "deactivate"))
    assert "Reactivated: 1" in messages(client, switch(client, code, "reactivate", "found"))

    lines = CodeChange.objects.exclude(kind="generated")
    assert [(line.kind, line.first_code, line.reason, line.changed_by) for line in lines] == [
        ("reactivated", "AB-0004", "found", owner),
        ("deactivated", "AB-0004", "stolen", owner),
    ]


@pytest.mark.parametrize("what", ["deactivate", "reactivate"])
def test_another_brands_code_does_not_exist(client, what):
    assert switch(client, factories.code(factories.brand()), what).status_code == 404
    assert switch(client, AuthCode(pk=10**12), what).status_code == 404


def test_one_code_needs_a_reason_too(client, batch):
    assert list(errors(switch(client, batch.codes.first(), "deactivate", ""))) == ["reason"]


BUSY = "Another change to this brand"


def test_while_another_change_runs_nothing_waits_and_nothing_typed_is_lost(client, batch, product):
    code = batch.codes.first()

    with holding(LOCK_PAIR, [LockOfRow.CODE_CHANGES.value, batch.brand_id]):
        stretch = send(client, batch, "deactivate", "confirm", reason="stolen from a lorry")
        typed = type_in(client, product, "AB-0001", "confirm", notes="by phone")
        one = switch(client, code, "deactivate", "torn off")
        chosen = choose(client, "deactivate", [code], reason="chosen one")

    for answer, reason in ((stretch, "a lorry"), (typed, "by phone"), (one, "torn off"), (chosen, "chosen one")):
        assert BUSY in str(errors(answer)["__all__"])
        assert reason in text(answer)
    assert not AuthCode.objects.filter(Q(deactivated_at__isnull=False) | Q(product__isnull=False)).exists()
    assert "Deactivated: 1" in messages(client, switch(client, code, "deactivate"))


def choose(client, action, codes, **more):
    sent = {"action": action, "_selected_action": [code.pk for code in codes], **more}
    return client.post(address("authcodes.authcode"), sent, follow=True)


def test_chosen_codes_are_asked_about_before_they_are_switched_off(client, batch):
    codes = list(batch.codes.order_by("code")[:3])

    confirmation = choose(client, "deactivate", codes)

    assert "These 3 codes" in text(confirmation)
    assert dict(confirmation.context["resent"]) == {"action": "deactivate", "_selected_action": str(codes[-1].pk)}
    assert not AuthCode.objects.deactivated().exists()
    assert list(errors(choose(client, "deactivate", codes, reason=" "))) == ["reason"]


def test_chosen_codes_are_switched_off_with_one_reason(client, owner, batch):
    codes = list(batch.codes.filter(code__in=["AB-0001", "AB-0002", "AB-0005"]))

    page_text = text(choose(client, "deactivate", codes, reason="stolen"))

    assert "Deactivated: 3" in page_text
    lines = CodeChange.objects.filter(kind="deactivated", changed_by=owner, reason="stolen")
    assert sorted(line.run for line in lines) == ["AB-0001 … AB-0002", "AB-0005"]
    assert len({line.action_id for line in lines}) == 1


def test_an_action_that_finds_nothing_to_do_says_so(client, batch):
    codes = list(batch.codes.all()[:2])

    assert "None of these codes would change." in text(choose(client, "reactivate", codes))
    choose(client, "deactivate", codes, reason="stolen")
    assert "None of these codes would change." in text(choose(client, "deactivate", codes))
    assert CodeChange.objects.filter(kind__in=["deactivated", "reactivated"]).count() == 1
