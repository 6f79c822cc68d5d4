"""Members with opening balances as files."""

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.models.people import User
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.notifications import NotificationPreference, Topic
from loyalty.notifications import preferences
from tests.support import factories
from tests.support.imports import confirm, counts, faults, imported, preview, problem, ticket_of, upload
from tests.support.portal import address, browser, staff, text

LABEL = "loyalty.userpoints"
HEADER = "email,first_name,last_name,external_id,phone,language,wants_notifications,opening_balance\n"
ADA = "ada@example.com,Ada,Lovelace,CRM-1,+4930123456,de,yes,120\n"
BOB = "bob@example.com,Bob,,,,,no,0\n"


def balances(brand):
    return dict(UserPoints.objects.filter(brand=brand).values_list("user__email", "points"))


def test_members_come_with_names_wishes_and_points(brand, owner):
    assert imported(owner, LABEL, brand, HEADER + ADA + BOB).status_code == 302

    ada = UserPoints.objects.get(brand=brand, user__email="ada@example.com")
    assert (ada.names, ada.external_id, ada.current_level) == (("Ada", "Lovelace"), "CRM-1", "Silver")
    assert (ada.points, ada.points_earned) == (120, 120)
    line = LoyaltyTransaction.objects.get(user_point__brand=brand)
    assert (line.user_point, line.reason, line.reason_id) == (ada, "earned", "opening:import")
    assert (line.points_earned, line.note) == (120, "Opening balance")
    assert (ada.user.has_usable_password(), ada.user.email_verified_at) == (False, None)
    wishes = preferences.read(ada.user_id, brand.pk)
    assert (wishes.language, wishes.phone, wishes.opted_out) == ("de", "+4930123456", frozenset())
    bob = UserPoints.objects.get(brand=brand, user__email="bob@example.com")
    assert (bob.names, bob.points, bob.current_level) == (("Bob", ""), 0, "Bronze")
    switches = preferences.read(bob.user_id, brand.pk).switches()
    assert not any({**switches[Topic.POINTS], **switches[Topic.OFFERS]}.values())
    assert all(switches[Topic.SAFETY].values())


def test_nobody_is_told(brand, owner):
    imported(owner, LABEL, brand, HEADER + ADA + BOB)

    assert not Event.objects.filter(brand=brand).exists()


def test_the_same_file_changes_nothing_the_second_time(brand, owner):
    content = HEADER + ADA + BOB
    imported(owner, LABEL, brand, content)
    before = list(UserPoints.objects.order_by("pk").values())

    page = preview(owner, LABEL, brand, content)

    assert counts(page) == {"Unchanged": 2}
    confirm(owner, LABEL, ticket_of(page))
    assert list(UserPoints.objects.order_by("pk").values()) == before
    assert LoyaltyTransaction.objects.count() == 1
    assert AuditLogEntry.objects.filter(kind=LABEL).count() == 2


def test_a_member_gets_one_balance_from_each_source(brand, owner):
    header = "email,opening_balance,opening_source\n"
    imported(owner, LABEL, brand, header + "ada@example.com,10,old-shop\n")

    page = preview(owner, LABEL, brand, header + "ada@example.com,11,old-shop\n")
    assert "already has an opening balance of 10.00" in faults(page)[2]
    imported(owner, LABEL, brand, header + "ada@example.com,11,partner\n")
    assert balances(brand) == {"ada@example.com": 21}
    page = preview(owner, LABEL, brand, header + "x@example.com,1,a\ny@example.com,1,b\nz@example.com,1,Ä\n")
    assert set(faults(page)) == {3, 4}


def test_who_is_a_member_keeps_names_and_wishes(brand, owner):
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


def test_who_registered_keeps_their_own_names(brand, owner):
    customer = factories.customer(brand, email="ada@example.com", first_name="Augusta", enrolled=False)

    imported(owner, LABEL, brand, HEADER + ADA)

    assert factories.account(customer, brand).first_name is None


def test_levels_never_go_down(brand, owner):
    customer = factories.customer(brand, email="ada@example.com")
    UserPoints.objects.update(current_level="Silver")

    imported(owner, LABEL, brand, "email,opening_balance\nada@example.com,1\n")

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
def test_a_bad_cell_is_said_with_its_column_and_nothing_is_written(brand, owner, row, column):
    page = preview(owner, LABEL, brand, HEADER + ADA + row + "\n")

    assert set(faults(page)) == {3}
    assert faults(page)[3].startswith(f"{column}: ")
    assert confirm(owner, LABEL, ticket_of(page)).status_code == 400
    assert not UserPoints.objects.filter(brand=brand).exists()


def test_nul_unknown_columns_and_columns_twice_are_refused(brand, owner):
    for content in (
        HEADER + "a\0@example.com,,,,,,,\n",
        "email,brand\na@example.com,1\n",
        "email,email\na@b.de,a@b.de\n",
    ):
        assert upload(owner, LABEL, brand, content).status_code == 400


def test_repeated_members_and_numbers_are_said_by_line(brand, owner):
    factories.customer(brand, email="old@example.com")
    UserPoints.objects.update(external_id="9")
    rows = "a@example.com,1\nA@Example.com,2\nb@example.com,7\nc@example.com,7\nd@example.com,9\nold@example.com,8\n"

    found = faults(preview(owner, LABEL, brand, "email,external_id\n" + rows))

    assert found == {
        2: "email: Lines 2, 3 are for the same row.",
        3: "email: Lines 2, 3 are for the same row.",
        4: "external_id: Lines 4, 5 are for the same row.",
        5: "external_id: Lines 4, 5 are for the same row.",
        6: "external_id: Another member of this brand has this external id.",
        7: "external_id: This member has another external id.",
    }


def test_formulas_are_names_and_come_back_as_text(brand, owner):
    imported(owner, LABEL, brand, "email,first_name\na@example.com,'=1+1\n")

    assert UserPoints.objects.get(brand=brand).names == ("=1+1", "")


def test_a_blocked_member_gets_nothing(brand, owner):
    factories.customer(brand, email="ada@example.com")
    UserPoints.objects.update(status="blocked")

    assert "is blocked" in faults(preview(owner, LABEL, brand, HEADER + ADA))[2]


# --- Other brands


def test_a_customer_of_another_brand_is_enrolled_like_somebody_new(brand, owner):
    elsewhere = factories.brand()
    existing_customer = factories.customer(
        elsewhere, email="ada@example.com", first_name="Secret", email_verified_at=timezone.now()
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
        elsewhere,
        True,
    )
    assert factories.account(existing_customer, elsewhere).points == 0
    pages = [text(browser(owner).get(address(LABEL))), text(browser(owner).get(address("brands.user")))]
    for user in (existing_customer, User.objects.get(email="new@example.com")):
        pages.append(text(browser(owner).get(address("brands.user", "change", user.pk))))
        pages.append(text(browser(owner).get(address(LABEL, "change", factories.account(user, brand).pk))))
    assert not [page for page in pages if "Secret" in page]


def test_the_page_of_a_person_tells_nothing_from_elsewhere(brand, owner):
    """Control: who registered with the brand is shown with the day."""
    at = timezone.now().replace(year=2011)
    factories.customer(factories.brand(), email="ada@example.com", date_joined=at, email_verified_at=at)
    own = factories.customer(brand, email="own@example.com", date_joined=at)
    imported(owner, LABEL, brand, "email\nada@example.com\n")

    listed = text(browser(owner).get(address("brands.user") + "?q=ada"))
    shown = text(browser(owner).get(address("brands.user", "change", User.objects.get(email="ada@example.com").pk)))

    assert "2011" not in listed
    assert "2011" not in shown
    assert "2011" in text(browser(owner).get(address("brands.user", "change", own.pk)))


def test_members_of_another_brand_stay_as_they_are(brand, owner):
    other = factories.brand()
    stranger = factories.customer(other, email="x@example.com")
    UserPoints.objects.filter(user=stranger).update(external_id="7")

    imported(owner, LABEL, brand, "email,external_id\nx@example.com,8\ny@example.com,7\n")

    assert factories.account(stranger, other).external_id == "7"
    assert set(balances(brand)) == {"x@example.com", "y@example.com"}


def test_somebody_elses_file_cannot_be_confirmed(brand, owner):
    other = factories.brand()
    page = preview(owner, LABEL, brand, HEADER + ADA)

    for person in (staff(brand), staff(other)):
        answer = confirm(person, LABEL, ticket_of(page))
        assert (answer.status_code, problem(answer)) == (400, "This preview is not valid. Upload the file again.")
    assert upload(staff(other), LABEL, brand, HEADER + ADA).status_code == 400
    assert not UserPoints.objects.exists()


# --- Who may, and how much


@pytest.mark.parametrize(("role", "status"), [("owner", 302), ("manager", 302), ("support", 403), ("printer", 403)])
def test_owners_and_managers_import_members(brand, role, status):
    assert upload(staff(brand, role=role), LABEL, brand, HEADER + ADA).status_code == status


def test_opening_balances_are_bounded_like_points_by_hand(brand, owner):
    brand.max_points_per_scan = 1
    brand.save(update_fields=["max_points_per_scan"])
    imported(owner, LABEL, brand, "email,opening_balance\na@example.com,60\n")

    page = preview(owner, LABEL, brand, "email,opening_balance\nb@example.com,40.5\n")
    assert "40 of 100 points are left" in faults(page)[2]
    assert imported(owner, LABEL, brand, "email,opening_balance\nb@example.com,40\n").status_code == 302
    page = preview(owner, LABEL, brand, "email,opening_balance\nc@example.com,1\n")
    assert "0 of 100 points are left" in faults(page)[2]
    operator = factories.user(is_staff=True, is_superuser=True)
    assert imported(operator, LABEL, brand, "email,opening_balance\nc@example.com,1000\n").status_code == 302


def test_balances_that_wait_use_the_limit_up_too(brand, owner):
    brand.max_points_per_scan = 1
    brand.requires_confirmed_email = True
    brand.save()
    imported(owner, LABEL, brand, "email,opening_balance\na@example.com,99\n")

    assert "1 of 100" in faults(preview(owner, LABEL, brand, "email,opening_balance\nb@example.com,2\n"))[2]
