"""Changing codes in the portal, with a preview and a confirmation: a code range, selected codes or one code."""

import pytest
from django.db.models import Q
from django.utils import timezone

from authcodes.codes import bulk_changes
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.models.people import StaffRole
from brands.models.quotas import BrandQuota
from core.db.advisory_locks import LOCK_PAIR, LockOfRow
from jobs.models import Job
from tests.authcodes.codes.change_pages import errors, messages, send_codes
from tests.support import factories
from tests.support.locks import locked_by_another_session
from tests.support.portal import address, browser, links, staff, text

pytestmark = pytest.mark.django_db


ACTIONS = ["assign", "unassign", "deactivate", "reactivate"]


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring")


@pytest.fixture
def product(brand):
    return factories.product(brand)


def send(client, batch, action, *buttons, **fields):
    form_data = {"first": batch.first_code, "last": batch.last_code, **fields}
    if action != "assign":
        form_data.setdefault("reason", "stolen")
    return client.post(address("authcodes.batchrange", action, batch.pk), {**form_data, **dict.fromkeys(buttons, "1")})


@pytest.mark.parametrize("action", ACTIONS)
def test_form_starts_with_the_whole_batch(client, batch, action):
    form = client.get(address("authcodes.batchrange", action, batch.pk)).context["form"]

    assert (form["first"].value(), form["last"].value()) == ("AB-0001", "AB-0010")


def test_preview_shows_an_assignment_without_changing_codes(client, batch, product):
    answer = send(client, batch, "assign", "preview", first="3", product=product.pk, inventory_location="Shelf 4")

    assert (answer.context["changes"], answer.context["problem"]) == (8, "")
    html = text(answer)
    assert "AB-0003 … AB-0010" in html
    assert product.title in html
    assert "Inventory location: Shelf 4" in html
    assert not AuthCode.objects.filter(product__isnull=False).exists()


def test_confirmed_assignment_is_applied(client, owner, batch, product):
    fields = {"inventory_location": "Shelf 4", "points_per_scan": 7, "notes": "first pallet"}

    answer = send(client, batch, "assign", "confirm", first="AB-0003", last="5", product=product.pk, **fields)

    assert answer["Location"] == address("authcodes.batchrange", "change", batch.pk)
    assert "Assigned: 3" in messages(client, answer)
    codes = AuthCode.objects.filter(product=product)
    assert {(code.inventory_location, code.points_per_scan, code.notes) for code in codes} == {tuple(fields.values())}
    assert CodeChange.objects.get(kind="assigned").changed_by == owner


def test_range_with_assigned_codes_is_rejected_and_the_preview_lists_them(client, batch, product):
    assigned = batch.codes.get(code="AB-0004")
    AuthCode.objects.filter(pk=assigned.pk).update(product=factories.product(batch.brand, title="Honey"))
    scan.scan(scanned=assigned.code, context=ScanContext(at=timezone.now()))

    preview = send(client, batch, "assign", "preview", product=product.pk)
    answer = send(client, batch, "assign", "confirm", product=product.pk)

    assert preview.context["changes"] == 0
    assert "Auth code range already assigned: 1 code has another product" in text(preview)
    assert preview.context["preview"].taken_codes == [assigned]
    assert preview.context["preview"].scanned_codes == [assigned]
    assert "Honey" in text(preview)
    assert 'name="confirm"' not in text(preview)
    assert errors(answer)["__all__"][0].startswith("Auth code range already assigned: 1 of the codes")
    assert AuthCode.objects.filter(product__isnull=False).count() == 1


def test_edit_button_returns_to_the_form_with_its_values(client, batch, product):
    answer = send(client, batch, "assign", "edit", first="3", product=product.pk, notes="first pallet")

    form = answer.context["form"]
    assert (form["first"].value(), form["notes"].value()) == ("3", "first pallet")
    assert "preview" not in answer.context


@pytest.mark.parametrize(
    ("invalid_fields", "field"),
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
def test_invalid_assignment_gets_an_error_at_its_field(client, batch, product, invalid_fields, field):
    for button in ("preview", "confirm"):
        answer = send(client, batch, "assign", button, **{"product": product.pk, **invalid_fields})

        assert list(errors(answer)) == [field]
    assert not AuthCode.objects.filter(product__isnull=False).exists()


@pytest.mark.parametrize("action", ["unassign", "deactivate", "reactivate"])
@pytest.mark.parametrize("reason", ["", "  "])
def test_changes_of_assigned_or_active_codes_need_a_reason(client, batch, action, reason):
    assert list(errors(send(client, batch, action, "confirm", reason=reason))) == ["reason"]


def test_code_range_is_deactivated_and_reactivated_with_a_reason(client, owner, batch):
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


def test_preview_without_changes_has_no_confirm_button(client, batch):
    preview = send(client, batch, "reactivate", "preview")

    assert preview.context["problem"] == "None of these codes would change."
    assert 'name="confirm"' not in text(preview)


def test_scanned_codes_cannot_be_unassigned(client, brand):
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


def test_change_of_many_codes_above_the_quota_of_jobs_keeps_what_was_typed(client, brand, batch, monkeypatch):
    monkeypatch.setattr(bulk_changes, "CODES_AT_ONCE", 9)
    BrandQuota.objects.create(brand=brand, resource="jobs", limit=1)
    send(client, batch, "deactivate", "confirm")

    answer = send(client, batch, "deactivate", "confirm", reason="stolen again")

    assert "Your brand can start 1 jobs a day" in str(errors(answer))
    assert answer.context["form"]["reason"].value() == "stolen again"
    assert Job.objects.count() == 1


@pytest.mark.parametrize("action", ACTIONS)
def test_batch_of_another_brand_is_not_found(client, action):
    zebra = factories.batch(factories.brand(), quantity=2)

    assert send(client, zebra, action, "confirm").status_code == 404
    assert client.get(address("authcodes.batchrange", action, zebra.pk)).status_code == 404
    assert not CodeChange.objects.exclude(kind="generated").exists()


def test_product_of_another_brand_is_rejected(client, batch):
    zebra = factories.product(factories.brand())

    answer = send(client, batch, "assign", "confirm", product=zebra.pk)

    assert list(errors(answer)) == ["product"]


def test_staff_of_two_brands_cannot_assign_across_brands(batch):
    zebra = factories.product(factories.brand())
    client = browser(staff(batch.brand, zebra.brand))

    assert list(errors(send(client, batch, "assign", "confirm", product=zebra.pk))) == ["product"]
    assert "not found" in send_codes(client, zebra, "AB-0001", "confirm").context["lines"][0].error


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 200), ("support", 403)])
def test_roles_have_the_documented_permission_to_change_codes(batch, role, status):
    client = browser(staff(batch.brand, role=role))
    code = batch.codes.first()
    addresses = [address("authcodes.batchrange", action, batch.pk) for action in ACTIONS]
    addresses += [address("authcodes.authcode", action, code.pk) for action in ("deactivate", "reactivate")]
    addresses += [address("authcodes.authcode", "assign")]

    assert {client.get(url).status_code for url in addresses} == {status}
    html = text(client.get(address("authcodes.batchrange", "change", batch.pk)))
    assert (addresses[0] in html) is (status == 200)
    assert (addresses[-1] in links(text(client.get(address("authcodes.authcode"))))) is (status == 200)


def test_owner_of_another_brand_cannot_change_codes_with_a_support_role(batch):
    user = staff(factories.brand())
    StaffRole.objects.create(user=user, brand=batch.brand, role="support")

    assert send(browser(user), batch, "deactivate", "confirm").status_code == 403
    assert not AuthCode.objects.deactivated().exists()


def send_change(client, code, action, reason="stolen"):
    return client.post(address("authcodes.authcode", action, code.pk), {"reason": reason})


def test_one_code_is_deactivated_and_reactivated_from_its_page(client, owner, batch):
    code = batch.codes.get(code="AB-0004")

    assert "Deactivated: 1" in messages(client, send_change(client, code, "deactivate"))
    assert list(AuthCode.objects.deactivated()) == [code]
    assert "Deactivated: 0" in messages(client, send_change(client, code, "deactivate"))
    assert "Reactivated: 1" in messages(client, send_change(client, code, "reactivate", "found"))

    lines = CodeChange.objects.exclude(kind="generated")
    assert [(line.kind, line.first_code, line.reason, line.changed_by) for line in lines] == [
        ("reactivated", "AB-0004", "found", owner),
        ("deactivated", "AB-0004", "stolen", owner),
    ]


@pytest.mark.parametrize("action", ["deactivate", "reactivate"])
def test_code_of_another_brand_is_not_found(client, action):
    assert send_change(client, factories.code(factories.brand()), action).status_code == 404
    assert send_change(client, AuthCode(pk=10**12), action).status_code == 404


def test_deactivating_one_code_needs_a_reason(client, batch):
    assert list(errors(send_change(client, batch.codes.first(), "deactivate", ""))) == ["reason"]


BUSY = "Another change to this brand"


def test_change_during_another_one_is_rejected_at_once_and_form_values_stay(client, batch, product):
    code = batch.codes.first()

    with locked_by_another_session(LOCK_PAIR, [LockOfRow.CODE_CHANGES.value, batch.brand_id]):
        range_answer = send(client, batch, "deactivate", "confirm", reason="stolen from a lorry")
        entered_answer = send_codes(client, product, "AB-0001", "confirm", notes="by phone")
        single_answer = send_change(client, code, "deactivate", "torn off")
        selected_answer = select_codes(client, "deactivate", [code], reason="chosen one")

    for answer, reason in (
        (range_answer, "a lorry"),
        (entered_answer, "by phone"),
        (single_answer, "torn off"),
        (selected_answer, "chosen one"),
    ):
        assert BUSY in str(errors(answer)["__all__"])
        assert reason in text(answer)
    assert not AuthCode.objects.filter(Q(deactivated_at__isnull=False) | Q(product__isnull=False)).exists()
    assert "Deactivated: 1" in messages(client, send_change(client, code, "deactivate"))


def select_codes(client, action, codes, **fields):
    form_data = {"action": action, "_selected_action": [code.pk for code in codes], **fields}
    return client.post(address("authcodes.authcode"), form_data, follow=True)


def test_deactivating_selected_codes_needs_a_confirmation_with_a_reason(client, batch):
    codes = list(batch.codes.order_by("code")[:3])

    confirmation = select_codes(client, "deactivate", codes)

    assert "These 3 codes" in text(confirmation)
    assert dict(confirmation.context["resent"]) == {"action": "deactivate", "_selected_action": str(codes[-1].pk)}
    assert not AuthCode.objects.deactivated().exists()
    assert list(errors(select_codes(client, "deactivate", codes, reason=" "))) == ["reason"]


def test_selected_codes_are_deactivated_with_one_reason(client, owner, batch):
    codes = list(batch.codes.filter(code__in=["AB-0001", "AB-0002", "AB-0005"]))

    page_text = text(select_codes(client, "deactivate", codes, reason="stolen"))

    assert "Deactivated: 3" in page_text
    lines = CodeChange.objects.filter(kind="deactivated", changed_by=owner, reason="stolen")
    assert sorted(line.run for line in lines) == ["AB-0001 … AB-0002", "AB-0005"]
    assert len({line.action_id for line in lines}) == 1


def test_action_that_changes_no_codes_shows_a_message(client, batch):
    codes = list(batch.codes.all()[:2])

    assert "None of these codes would change." in text(select_codes(client, "reactivate", codes))
    select_codes(client, "deactivate", codes, reason="stolen")
    assert "None of these codes would change." in text(select_codes(client, "deactivate", codes))
    assert CodeChange.objects.filter(kind__in=["deactivated", "reactivated"]).count() == 1
