"""Points above a brand's ceiling need the approval of a second user, however they are set."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.products import Product
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from campaigns.models.earning_rules import EarningRule
from core.errors import Forbidden, Invalid
from loyalty.models.approvals import PointsApproval
from loyalty.models.levels import BrandLevel
from loyalty.points import approvals
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(brand):
    return staff(brand, role="manager")


def edit(user, row, **fields):
    label = row._meta.label_lower
    url, client = address(label, "change", row.pk), browser(user)
    reason = {"reason": "Agreed"} if label == "authcodes.batchrange" else {}
    response = client.post(url, {**form_of(client.get(url)), **reason, **fields})
    assert response.status_code == 302, errors(response)
    row.refresh_from_db()
    return row


def decide(user, approval, action="approve"):
    return browser(user).post(address("loyalty.pointsapproval", action, approval.pk), follow=True)


def pending():
    return PointsApproval.objects.get(status="pending")


def add_batch(user, brand, **fields):
    numbering = {"prefix": "AUT-", "starting_number": 1, "number_width": 8, "quantity": 2500, "signed": "plain"}
    form_data = {"brand": brand.pk, "range_name": "Autumn", **numbering, "scan_limit": 1, **fields}
    response = browser(user).post(address("authcodes.batchrange", "add"), form_data)
    return BatchRange.objects.get(range_name="Autumn") if response.status_code == 302 else errors(response)


# --- Batches ---------------------------------------------------------------------------------------------------------


def test_batch_above_the_ceiling_earns_the_ceiling_until_a_second_user_approves(brand, owner, manager):
    batch = add_batch(owner, brand, points_per_scan=5000)

    assert batch.points_per_scan == 1000
    approval = pending()
    assert (approval.values, approval.max_total) == ({"points_per_scan": 5000}, 12_500_000)
    assert (approval.brand, approval.requested_by) == (brand, owner)
    assert "cannot decide on your own request" in text(decide(owner, approval))
    batch.refresh_from_db()
    assert batch.points_per_scan == 1000

    assert "Approved" in text(decide(manager, approval))

    batch.refresh_from_db()
    assert batch.points_per_scan == 5000
    approval.refresh_from_db()
    assert (approval.status, approval.decided_by) == ("approved", manager)
    batch_entries = AuditLogEntry.objects.filter(kind="authcodes.batchrange", row_id=str(batch.pk), user=manager)
    assert [entry.changes for entry in batch_entries] == [{"points_per_scan": [1000, 5000]}]
    entries = AuditLogEntry.objects.filter(kind="loyalty.pointsapproval").order_by("id")
    assert [(entry.user, entry.action) for entry in entries] == [
        (owner, "Approval requested"),
        (manager, "Approved"),
    ]


def test_batch_created_in_code_cannot_exceed_the_ceiling(brand):
    batch_settings = BatchSettings(range_name="Mint", quantity=1, prefix="M-", points_per_scan=99_999_999, signed=False)

    with pytest.raises(BatchRejected, match="At most 1,000 points"):
        batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


def test_summary_states_the_maximum_points_of_the_batch(brand, owner):
    form_data = {"brand": brand.pk, "range_name": "A", "prefix": "A-", "starting_number": 1, "number_width": 6}
    form_data |= {"quantity": 2500, "points_per_scan": 5000, "scan_limit": 1, "signed": "plain"}

    html = text(browser(owner).get(address("authcodes.batchrange", "summary"), form_data))

    assert "as allowed: 12,500,000 points" in html
    assert "Until a second manager or owner approves it, a scan earns 1,000" in html


def test_rejected_request_leaves_the_value_unchanged(brand, owner, manager):
    batch = add_batch(owner, brand, points_per_scan=5000)

    decide(manager, pending(), "reject")

    batch.refresh_from_db()
    assert (batch.points_per_scan, PointsApproval.objects.get().status) == (1000, "rejected")


def test_approval_fails_if_the_batch_was_edited_after_the_request(brand, owner, manager):
    """Otherwise the second user would approve a different total from the one displayed."""
    batch = add_batch(owner, brand, points_per_scan=5000)
    approval = pending()
    edit(owner, batch, scan_limit=100)

    response = decide(manager, approval)

    batch.refresh_from_db()
    assert "and its total points have changed" in text(response)
    assert batch.points_per_scan == 1000
    assert pending() == approval


def test_edit_after_an_approval_needs_a_new_approval(brand, owner, manager):
    batch = add_batch(owner, brand, points_per_scan=5000)
    decide(manager, pending())

    edit(owner, batch, points_per_scan=6000)
    assert batch.points_per_scan == 5000
    edit(owner, batch, scan_limit="")
    assert batch.scan_limit == 1
    assert pending().values == {"scan_limit": None}
    assert pending().max_total is None
    decide(manager, pending())
    batch.refresh_from_db()
    assert (batch.points_per_scan, batch.scan_limit) == (5000, None)

    edit(owner, batch, points_per_scan=10)
    edit(owner, batch, points_per_scan=5000)
    assert batch.points_per_scan == 1000


def test_later_value_below_the_ceiling_withdraws_the_request(brand, owner, manager):
    batch = add_batch(owner, brand, points_per_scan=5000)
    approval = pending()

    edit(owner, batch, points_per_scan=7)

    assert "already been decided or withdrawn" in text(decide(manager, approval))
    batch.refresh_from_db()
    assert batch.points_per_scan == 7


# --- Other sources of a scan's points --------------------------------------------------------------------------------


def test_product_level_and_rule_above_the_ceiling_need_approval(brand, owner, manager):
    rows = [
        (factories.product(brand), "redeem_point_value"),
        (factories.level(brand, "Gold", 500), "scan_reward_value"),
        (factories.earning_rule(brand, "log-user-login"), "reward_value"),
    ]

    for row, field in rows:
        edit(owner, row, **{field: 2_000_000})
        assert getattr(row, field) == 1000
        decide(manager, pending())
        row.refresh_from_db()
        assert getattr(row, field) == 2_000_000


def test_request_may_have_the_same_id_as_its_row(brand, owner):
    """Regression: on a fresh installation the audit log confused the two rows and the page failed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('loyalty_pointsapproval', 'id'))")
        product = factories.product(brand, pk=cursor.fetchone()[0] + 1)

    edit(owner, product, redeem_point_value=5000)

    assert pending().pk == product.pk


def test_percentage_above_a_hundred_needs_approval(brand, owner):
    level = factories.level(brand, "Gold", 500, "percentage", 50)

    edit(owner, level, scan_reward_value=500)
    assert level.scan_reward_value == 100

    other = factories.level(brand, "Platinum", 900, "points", 900)
    edit(owner, other, scan_reward_type="percentage")
    assert other.scan_reward_value == 100


def test_new_level_above_the_ceiling_starts_at_the_ceiling(brand, owner):
    data = {"brand": brand.pk, "name": "Gold", "threshold": 9, "scan_reward_type": "points", "scan_reward_value": 5000}

    browser(owner).post(address("loyalty.brandlevel", "add"), data)

    assert BrandLevel.objects.get(name="Gold").scan_reward_value == 1000
    assert pending().values == {"scan_reward_value": "5000"}


def test_database_rejects_values_without_the_approval_of_a_second_user(brand, owner, manager):
    batch = add_batch(owner, brand, points_per_scan=5000)
    product, level = factories.product(brand), factories.level(brand, "Gold", 500)
    rule = factories.earning_rule(brand, "log-user-login")
    writes = [
        lambda: BatchRange.objects.filter(pk=batch.pk).update(points_per_scan=5000),
        lambda: Product.objects.filter(pk=product.pk).update(redeem_point_value=1001),
        lambda: factories.product(brand, redeem_point_value=1001),
        lambda: BrandLevel.objects.filter(pk=level.pk).update(scan_reward_value=1001),
        lambda: EarningRule.objects.filter(pk=rule.pk).update(reward_value=1001),
    ]

    for write in writes:
        with pytest.raises(IntegrityError, match="needs the approval of a second person"), transaction.atomic():
            write()

    decide(manager, pending())
    BatchRange.objects.filter(pk=batch.pk).update(points_per_scan=4000)
    with pytest.raises(IntegrityError), transaction.atomic():
        writes[0]()


def test_value_above_a_lowered_ceiling_may_stay_or_decrease(brand, owner):
    product = factories.product(brand, redeem_point_value=900)
    Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=100)

    edit(owner, product, title="Renamed")
    assert product.redeem_point_value == 900
    edit(owner, product, redeem_point_value=800)
    assert product.redeem_point_value == 800
    edit(owner, product, redeem_point_value=850)
    assert (product.redeem_point_value, pending().values) == (800, {"redeem_point_value": 850})


# --- Permissions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["printer", "support"])
def test_printers_and_support_cannot_decide_requests(brand, owner, role):
    batch = add_batch(owner, brand, points_per_scan=5000)
    user = staff(brand, role=role)

    assert decide(user, pending()).status_code in {403, 404}
    with pytest.raises(Forbidden):
        approvals.approve(approval=pending(), by=user, at=timezone.now())
    batch.refresh_from_db()
    assert batch.points_per_scan == 1000


def test_owner_of_another_brand_cannot_decide_a_request(brand, owner):
    add_batch(owner, brand, points_per_scan=5000)
    foreign_owner = staff(factories.brand())

    assert decide(foreign_owner, pending()).status_code == 404
    with pytest.raises(Forbidden):
        approvals.approve(approval=pending(), by=foreign_owner, at=timezone.now())


def test_manager_who_lost_the_role_cannot_approve(brand, owner, manager):
    add_batch(owner, brand, points_per_scan=5000)
    StaffRole.objects.filter(user=manager).update(role="support")
    manager.refresh_from_db()

    with pytest.raises(Forbidden):
        approvals.approve(approval=pending(), by=manager, at=timezone.now())


def test_database_rejects_an_approval_by_the_requester(brand, owner):
    add_batch(owner, brand, points_per_scan=5000)

    with pytest.raises(IntegrityError, match="approved_by_a_second_person"), transaction.atomic():
        PointsApproval.objects.update(status="approved", decided_by=owner, decided_at=timezone.now())


def test_owners_can_lower_the_ceiling_and_only_operators_can_raise_it(brand, owner):
    url = address("brands.brand", "change", brand.pk)

    def ceiling(user, points):
        client = browser(user)
        client.post(url, {**form_of(client.get(url)), "max_points_per_scan": points})
        brand.refresh_from_db()
        return brand.max_points_per_scan

    assert ceiling(owner, 99_999_999) == 1000
    assert ceiling(owner, 500) == 500
    assert ceiling(owner, 501) == 500
    assert ceiling(factories.user(is_staff=True, is_superuser=True), 2000) == 2000


def test_home_page_shows_pending_requests_to_users_who_may_decide(brand, owner, manager):
    add_batch(owner, brand, points_per_scan=5000)

    def sees_pending_requests(user):
        return "above the ceiling" in text(browser(user).get("/admin/"))

    other_staff = [staff(brand, role="printer"), staff(brand, role="support"), staff(factories.brand())]
    assert sees_pending_requests(manager)
    assert not any(sees_pending_requests(user) for user in [owner, *other_staff])


# --- Races -----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_only_one_of_many_concurrent_decisions_succeeds():
    brand = factories.brand()
    owner = staff(brand)
    managers = [staff(brand, role="manager") for _ in range(8)]
    product = factories.product(brand)
    approval = approvals.request_approval(
        row=product, brand=brand, values={"redeem_point_value": 5000}, max_total=None, by=owner, at=timezone.now()
    )

    def decide_once(user):
        decision = approvals.approve if user.pk % 2 else approvals.reject
        return decision(approval=approval, by=user, at=timezone.now())

    results = run_concurrently(decide_once, managers)

    approval.refresh_from_db()
    product.refresh_from_db()
    assert sum(isinstance(result, Invalid) for result in results) == 7
    assert product.redeem_point_value == (5000 if approval.status == "approved" else None)


@pytest.mark.django_db(transaction=True)
def test_edit_concurrent_with_an_approval_never_exceeds_the_approved_value():
    brand = factories.brand()
    owner, manager = staff(brand), staff(brand, role="manager")
    for _ in range(6):
        product = factories.product(brand)
        edit(owner, product, redeem_point_value=5000)
        approval = pending()
        run_concurrently(
            lambda action: action(),
            [
                lambda approval=approval: approvals.approve(approval=approval, by=manager, at=timezone.now()),
                lambda product=product: edit(owner, product, redeem_point_value=9000),
            ],
        )
        product.refresh_from_db()
        assert product.redeem_point_value in {1000, 5000}
        assert Decimal(pending().values["redeem_point_value"]) == 9000
        approvals.reject(approval=pending(), by=manager, at=timezone.now())
