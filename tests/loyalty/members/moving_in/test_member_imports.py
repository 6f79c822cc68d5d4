"""Importing members with opening balances from files."""

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import User
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.notifications import NotificationPreference, Topic
from loyalty.notifications import preferences
from tests.loyalty.merges.conftest import merge_accounts
from tests.support import factories
from tests.support.imports import confirm, counts, import_file, line_errors, preview, problem, ticket_of, upload
from tests.support.portal import address, browser, staff, text

LABEL = "loyalty.userpoints"
HEADER = "email,first_name,last_name,external_id,phone,language,wants_notifications,opening_balance\n"
ADA = "ada@example.com,Ada,Lovelace,CRM-1,+4930123456,de,yes,120\n"
BOB = "bob@example.com,Bob,,,,,no,0\n"


def balances(brand):
    return dict(UserPoints.objects.filter(brand=brand).values_list("user__email", "points"))


def test_import_creates_members_with_names_preferences_and_points(brand, owner):
    assert import_file(owner, LABEL, brand, HEADER + ADA + BOB).status_code == 302

    ada = UserPoints.objects.get(brand=brand, user__email="ada@example.com")
    assert (ada.names, ada.external_id, ada.current_level) == (("Ada", "Lovelace"), "CRM-1", "Silver")
    assert (ada.points, ada.points_earned) == (120, 120)
    entry = LoyaltyTransaction.objects.get(user_point__brand=brand)
    assert (entry.user_point, entry.reason, entry.reason_id) == (ada, "earned", "opening:import")
    assert (entry.points_earned, entry.note) == (120, "Opening balance")
    assert (ada.user.has_usable_password(), ada.user.email_verified_at) == (False, None)
    ada_preferences = preferences.read(ada.user_id, brand.pk)
    assert (ada_preferences.language, ada_preferences.phone, ada_preferences.opted_out) == (
        "de",
        "+4930123456",
        frozenset(),
    )
    bob = UserPoints.objects.get(brand=brand, user__email="bob@example.com")
    assert (bob.names, bob.points, bob.current_level) == (("Bob", ""), 0, "Bronze")
    switches = preferences.read(bob.user_id, brand.pk).switches()
    assert not any({**switches[Topic.POINTS], **switches[Topic.OFFERS]}.values())
    assert all(switches[Topic.SAFETY].values())


def test_import_without_webhooks_publishes_no_event(brand, owner):
    import_file(owner, LABEL, brand, HEADER + ADA + BOB)

    assert not Event.objects.filter(brand=brand).exists()


def test_importing_the_same_file_again_changes_nothing(brand, owner):
    content = HEADER + ADA + BOB
    import_file(owner, LABEL, brand, content)
    before = list(UserPoints.objects.order_by("pk").values())

    page = preview(owner, LABEL, brand, content)

    assert counts(page) == {"Unchanged": 2}
    confirm(owner, LABEL, ticket_of(page))
    assert list(UserPoints.objects.order_by("pk").values()) == before
    assert LoyaltyTransaction.objects.count() == 1
    assert AuditLogEntry.objects.filter(kind=LABEL).count() == 2


def test_member_gets_one_opening_balance_per_source(brand, owner):
    header = "email,opening_balance,opening_source\n"
    import_file(owner, LABEL, brand, header + "ada@example.com,10,old-shop\n")

    page = preview(owner, LABEL, brand, header + "ada@example.com,11,old-shop\n")
    assert "already has an opening balance of 10.00" in line_errors(page)[2]
    import_file(owner, LABEL, brand, header + "ada@example.com,11,partner\n")
    assert balances(brand) == {"ada@example.com": 21}
    page = preview(owner, LABEL, brand, header + "x@example.com,1,a\ny@example.com,1,b\nz@example.com,1,Ä\n")
    assert set(line_errors(page)) == {3, 4}


def test_import_preserves_names_and_preferences_of_existing_members(brand, owner):
    customer = factories.customer(brand, email="ada@example.com", first_name="Augusta")
    preferences.change(customer.pk, brand.pk, at=timezone.now(), language="ar")

    page = preview(owner, LABEL, brand, HEADER + ADA)
    assert counts(page) == {"Changed": 1}
    confirm(owner, LABEL, ticket_of(page))

    member = factories.account(customer, brand)
    assert (member.names[0], member.external_id, member.points) == ("Augusta", "CRM-1", 120)
    assert member.current_level == "Silver"
    assert NotificationPreference.objects.get(user=customer).language == "ar"
    entry = AuditLogEntry.objects.get(kind=LABEL, action="Imported")
    assert entry.changes["points"] == [0, 120]
    assert entry.changes["external_id"] == [None, "•••"]


def test_import_preserves_names_of_registered_customers(brand, owner):
    customer = factories.customer(brand, email="ada@example.com", first_name="Augusta", enrolled=False)

    import_file(owner, LABEL, brand, HEADER + ADA)

    assert factories.account(customer, brand).first_name is None


def test_import_never_lowers_a_level(brand, owner):
    customer = factories.customer(brand, email="ada@example.com")
    UserPoints.objects.update(current_level="Silver")

    import_file(owner, LABEL, brand, "email,opening_balance\nada@example.com,1\n")

    assert factories.account(customer, brand).current_level == "Silver"


# --- Bad files


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("nobody,,,,,,,", "email"),
        (",Ada,,,,,,", "email"),
        ("a@exämple.com,,,,,,,", "email"),
        ("erased-1@erased.invalid,,,,,,,", "email"),
        ("a@example.com,,,,,,,-1", "opening_balance"),
        ("a@example.com,,,,,,,1.234", "opening_balance"),
        ('a@example.com,,,,,,,"1,000"', "opening_balance"),
        ("a@example.com,,,,,,,٣", "opening_balance"),
        ("a@example.com,,,,,,,1e3", "opening_balance"),
        ("a@example.com,,,,,,,NaN", "opening_balance"),
        ("a@example.com,,,,,,,999999999999999999999999", "opening_balance"),
        ("a@example.com,,,,030 123,,,", "phone"),
        ("a@example.com,,,,+٤٩٣٠١٢٣٤٥,,,", "phone"),
        ("a@example.com,,,,,fr,,", "language"),
        ("a@example.com,,,,,,maybe,", "wants_notifications"),
        (f"a@example.com,{'x' * 151},,,,,,", "first_name"),
        (f"a@example.com,,,{'x' * 65},,,,", "external_id"),
        ('a@example.com,,,"a\nb",,,,', "external_id"),
    ],
)
def test_invalid_cell_is_reported_with_its_column_and_nothing_is_written(brand, owner, row, column):
    page = preview(owner, LABEL, brand, HEADER + ADA + row + "\n")

    assert set(line_errors(page)) == {3}
    assert line_errors(page)[3].startswith(f"{column}: ")
    assert confirm(owner, LABEL, ticket_of(page)).status_code == 400
    assert not UserPoints.objects.filter(brand=brand).exists()


def test_nul_unknown_and_duplicate_columns_are_rejected(brand, owner):
    for content in (
        HEADER + "a\0@example.com,,,,,,,\n",
        "email,brand\na@example.com,1\n",
        "email,email\na@b.de,a@b.de\n",
    ):
        assert upload(owner, LABEL, brand, content).status_code == 400


def test_duplicate_members_and_external_ids_are_reported_by_line(brand, owner):
    factories.customer(brand, email="old@example.com")
    UserPoints.objects.update(external_id="9")
    rows = "a@example.com,1\nA@Example.com,2\nb@example.com,7\nc@example.com,7\nd@example.com,9\nold@example.com,8\n"

    problems = line_errors(preview(owner, LABEL, brand, "email,external_id\n" + rows))

    assert problems == {
        2: "email: Lines 2, 3 are for the same row.",
        3: "email: Lines 2, 3 are for the same row.",
        4: "external_id: Lines 4, 5 are for the same row.",
        5: "external_id: Lines 4, 5 are for the same row.",
        6: "external_id: Another member of this brand has this external id.",
        7: "external_id: This member has another external id.",
    }


def test_escaped_formula_is_imported_as_plain_text(brand, owner):
    import_file(owner, LABEL, brand, "email,first_name\na@example.com,'=1+1\n")

    assert UserPoints.objects.get(brand=brand).names == ("=1+1", "")


def test_import_rejects_a_blocked_member(brand, owner):
    factories.customer(brand, email="ada@example.com")
    UserPoints.objects.update(status="blocked")

    assert "is blocked" in line_errors(preview(owner, LABEL, brand, HEADER + ADA))[2]


def test_import_rejects_points_for_a_merged_account(brand, owner):
    source, target = factories.customer(brand, email="ada@example.com"), factories.customer(brand)
    merge_accounts(brand, target, source)

    assert "already merged" in line_errors(preview(owner, LABEL, brand, HEADER + ADA))[2]
    without_points = HEADER + ADA.replace(",120", ",0")
    assert line_errors(preview(owner, LABEL, brand, without_points)) == {}


# --- Other brands


def test_customer_of_another_brand_is_enrolled_like_a_new_one(brand, owner):
    other_brand = factories.brand()
    existing_customer = factories.customer(
        other_brand, email="ada@example.com", first_name="Secret", email_verified_at=timezone.now()
    )
    rows = "email,first_name,opening_balance\nada@example.com,Ada,5\nnew@example.com,New,5\n"
    page = preview(owner, LABEL, brand, rows)
    assert counts(page) == {"New": 2}
    confirm(owner, LABEL, ticket_of(page))

    new_account = factories.account(existing_customer, brand)
    assert (new_account.names, new_account.points) == (("Ada", ""), 5)
    existing_customer.refresh_from_db()
    assert (existing_customer.first_name, existing_customer.registered_brand, existing_customer.is_active) == (
        "Secret",
        other_brand,
        True,
    )
    assert factories.account(existing_customer, other_brand).points == 0
    pages = [text(browser(owner).get(address(LABEL))), text(browser(owner).get(address("brands.user")))]
    for user in (existing_customer, User.objects.get(email="new@example.com")):
        pages.append(text(browser(owner).get(address("brands.user", "change", user.pk))))
        pages.append(text(browser(owner).get(address(LABEL, "change", factories.account(user, brand).pk))))
    assert not [page for page in pages if "Secret" in page]


def test_user_pages_hide_dates_from_other_brands(brand, owner):
    """Control: the page of a customer who registered with the brand has the date."""
    at = timezone.now().replace(year=2011)
    factories.customer(factories.brand(), email="ada@example.com", date_joined=at, email_verified_at=at)
    own_customer = factories.customer(brand, email="own@example.com", date_joined=at)
    import_file(owner, LABEL, brand, "email\nada@example.com\n")

    list_page = text(browser(owner).get(address("brands.user") + "?q=ada"))
    user_page = text(browser(owner).get(address("brands.user", "change", User.objects.get(email="ada@example.com").pk)))

    assert "2011" not in list_page
    assert "2011" not in user_page
    assert "2011" in text(browser(owner).get(address("brands.user", "change", own_customer.pk)))


def test_import_does_not_change_members_of_another_brand(brand, owner):
    other_brand = factories.brand()
    foreign_customer = factories.customer(other_brand, email="x@example.com")
    UserPoints.objects.filter(user=foreign_customer).update(external_id="7")

    import_file(owner, LABEL, brand, "email,external_id\nx@example.com,8\ny@example.com,7\n")

    assert factories.account(foreign_customer, other_brand).external_id == "7"
    assert set(balances(brand)) == {"x@example.com", "y@example.com"}


def test_file_uploaded_by_another_user_cannot_be_confirmed(brand, owner):
    other_brand = factories.brand()
    page = preview(owner, LABEL, brand, HEADER + ADA)

    for other_user in (staff(brand), staff(other_brand)):
        answer = confirm(other_user, LABEL, ticket_of(page))
        assert (answer.status_code, problem(answer)) == (400, "This preview is not valid. Upload the file again.")
    assert upload(staff(other_brand), LABEL, brand, HEADER + ADA).status_code == 400
    assert not UserPoints.objects.exists()


# --- Permissions and limits


@pytest.mark.parametrize(("role", "status"), [("owner", 302), ("manager", 302), ("support", 403), ("printer", 403)])
def test_only_owners_and_managers_import_members(brand, role, status):
    assert upload(staff(brand, role=role), LABEL, brand, HEADER + ADA).status_code == status


def test_opening_balances_are_limited_like_manual_adjustments(brand, owner):
    brand.max_points_per_scan = 1
    brand.save(update_fields=["max_points_per_scan"])
    import_file(owner, LABEL, brand, "email,opening_balance\na@example.com,60\n")

    page = preview(owner, LABEL, brand, "email,opening_balance\nb@example.com,40.5\n")
    assert "40 of 100 points are left" in line_errors(page)[2]
    assert import_file(owner, LABEL, brand, "email,opening_balance\nb@example.com,40\n").status_code == 302
    page = preview(owner, LABEL, brand, "email,opening_balance\nc@example.com,1\n")
    assert "0 of 100 points are left" in line_errors(page)[2]
    operator = factories.user(is_staff=True, is_superuser=True)
    assert import_file(operator, LABEL, brand, "email,opening_balance\nc@example.com,1000\n").status_code == 302


def test_waiting_balances_count_towards_the_limit(brand, owner):
    brand.max_points_per_scan = 1
    brand.requires_confirmed_email = True
    brand.save()
    import_file(owner, LABEL, brand, "email,opening_balance\na@example.com,99\n")

    assert "1 of 100" in line_errors(preview(owner, LABEL, brand, "email,opening_balance\nb@example.com,2\n"))[2]
