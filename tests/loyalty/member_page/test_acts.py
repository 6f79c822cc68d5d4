"""What staff do on a member's page: write notes, hand rewards over, and take one for the member."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from core import personal_data
from loyalty.members import erasure
from loyalty.members.listing import refresh
from loyalty.models.members.listed_members import ListedMember
from loyalty.models.members.member_notes import MemberNote
from loyalty.models.rewards import Redemption
from loyalty.rewards.grants import grant_reward, request_key_of
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db
MEMBERS = "loyalty.userpoints"


@pytest.fixture
def member(brand, customer):
    return factories.account(customer, brand)


def act(member, what):
    return address(MEMBERS, what, member.pk)


def write(client, member, note):
    return client.post(act(member, "note"), {"text": note}, follow=True)


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_who_sees_a_member_writes_notes_and_deletes_their_own(brand, member, role):
    client = browser(staff(brand, role=role, first_name="Grace", last_name="Hopper"))

    shown = text(write(client, member, "Prefers\ncalls"))

    assert "The note is saved." in shown
    assert "Prefers\ncalls" in shown
    assert "Grace Hopper" in shown
    [note] = MemberNote.objects.all()
    deleted = text(client.post(act(member, "note"), {"delete": note.pk}, follow=True))
    assert "The note is deleted." in deleted
    assert not MemberNote.objects.exists()


def test_nobody_deletes_a_colleagues_note(brand, member):
    write(browser(staff(brand, role="support")), member, "Mine")
    owner = browser(staff(brand))
    [note] = MemberNote.objects.all()

    assert "Delete your note" not in text(owner.get(act(member, "change")))
    for number in (note.pk, "x", "9" * 30, ""):
        assert "Only the author of a note can delete it." in text(
            owner.post(act(member, "note"), {"delete": number}, follow=True)
        )
    assert MemberNote.objects.count() == 1


def test_an_empty_or_endless_note_is_said_at_its_field_and_nothing_is_lost(brand, member):
    client = browser(staff(brand))

    empty, endless = write(client, member, "  "), write(client, member, "x" * 2001)

    assert "This field is required." in text(empty)
    assert "x" * 2001 in text(endless)
    assert not MemberNote.objects.exists()


def test_notes_go_with_the_member_and_no_export_has_them(brand, customer, member):
    owner = staff(brand)
    write(browser(owner), member, "Grumpy on the phone")
    refresh.refresh(at=timezone.now())
    other = factories.customer(brand)
    write(browser(owner), factories.account(other, brand), "Kind")

    exported = "".join(personal_data.parts(user_id=customer.pk, brand_id=brand.pk))
    erasure.erase(
        user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(owner, timezone.now(), "", "Asked")
    )

    assert "Grumpy" not in exported
    assert list(MemberNote.objects.values_list("text", flat=True)) == ["Kind"]
    assert not ListedMember.objects.filter(account=member).exists()


def open_reward(brand, customer, name="A mug"):
    factories.points(customer, brand, 50)
    return factories.redemption(customer, factories.reward(brand, name=name, cost=10))


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_an_open_code_is_used_with_one_click_once(brand, customer, member, role):
    redemption = open_reward(brand, customer)
    client = browser(staff(brand, role=role))
    [code] = client.get(act(member, "change")).context["open_codes"]
    sent = {"redemption": code.redemption, "key": code.key}

    answers = [text(client.post(act(member, "use"), sent, follow=True)) for _ in range(2)]

    assert all("Used. Hand over: A mug" in answer for answer in answers)
    assert redemption.code not in answers[0]
    redemption.refresh_from_db()
    assert redemption.status == Redemption.Status.USED
    assert AuditLogEntry.objects.filter(action="Used at the till").count() == 1
    again = text(client.post(act(member, "use"), {**sent, "key": str(uuid4())}, follow=True))
    assert "Used. Hand over" not in again
    assert client.get(act(member, "change")).context["open_codes"] == []


def test_another_members_code_is_not_used_here(brand, customer, member):
    other = factories.customer(brand)
    redemption = open_reward(brand, other)
    client = browser(staff(brand))

    for number, key in ((redemption.pk, uuid4()), ("x", uuid4()), (redemption.pk, "x"), ("", "")):
        answer = client.post(act(member, "use"), {"redemption": number, "key": key}, follow=True)
        assert "This member has no such code." in text(answer)
    redemption.refresh_from_db()
    assert redemption.status == Redemption.Status.ISSUED


def test_staff_take_a_reward_for_a_member_once_and_say_why(brand, customer, member):
    factories.points(customer, brand, 50)
    reward = factories.reward(brand, name="A mug", cost=20)
    client = browser(staff(brand))
    form = client.get(act(member, "give_reward")).context["form"]
    sent = {"reward": reward.pk, "reason": "Broken parcel", "key": form.initial["key"]}

    for _ in range(2):
        client.post(act(member, "give_reward"), sent)

    [redemption] = Redemption.objects.all()
    member.refresh_from_db()
    assert (redemption.user_point_id, member.points) == (member.pk, 30)
    [entry] = AuditLogEntry.objects.filter(action="Reward given")
    assert (entry.reason, entry.row_id) == ("Broken parcel", str(member.pk))


def test_the_key_of_what_a_milestone_gives_keeps_nobody_from_getting_that(brand, customer, member):
    """Staff could compute it, and post it with another reward."""
    factories.points(customer, brand, 50)
    milestone = factories.milestone(factories.campaign(brand), 1)
    key = request_key_of(milestone.pk, 1)
    mug = factories.reward(brand, cost=20)

    browser(staff(brand)).post(act(member, "give_reward"), {"reward": mug.pk, "reason": "x", "key": key})

    assert Redemption.objects.get().request_key != key
    grant_reward(account=member, milestone_id=milestone.pk, name="A mug", at=timezone.now())
    assert Redemption.objects.count() == 2


def test_what_is_only_won_or_over_is_not_offered(brand, member):
    mug = factories.reward(brand, name="A mug", cost=20)
    factories.reward(brand, name="Only won", cost=None)
    factories.reward(brand, name="Over", cost=5, valid_until=timezone.now() - timedelta(days=1))

    page = browser(staff(brand)).get(act(member, "give_reward"))

    assert page.status_code == 200
    assert list(page.context["form"].fields["reward"].queryset) == [mug]


def test_what_stands_in_the_way_of_a_reward_is_said_and_nothing_happens(brand, customer, member):
    reward = factories.reward(brand, cost=20)
    foreign = factories.reward(factories.brand(), cost=1)
    client = browser(staff(brand))

    poor = client.post(act(member, "give_reward"), {"reward": reward.pk, "reason": "x", "key": uuid4()})
    silent = client.post(act(member, "give_reward"), {"reward": reward.pk, "reason": " ", "key": uuid4()})
    other = client.post(act(member, "give_reward"), {"reward": foreign.pk, "reason": "x", "key": uuid4()})

    assert poor.context["form"].non_field_errors()
    assert "reason" in silent.context["form"].errors
    assert "reward" in other.context["form"].errors
    assert not Redemption.objects.exists()


@pytest.mark.parametrize(("role", "acts"), [("owner", True), ("manager", True), ("support", False)])
def test_the_page_offers_only_what_the_role_may_do(brand, member, role, acts):
    shown = text(browser(staff(brand, role=role)).get(act(member, "change")))

    offered = {what: act(member, what) in shown for what in ("adjust", "give_reward", "block_one", "merge")}
    assert set(offered.values()) == {acts}, offered
    assert (act(member, "erase") in shown) == (role == "owner")
    assert act(member, "correct_name") in shown


def test_blocking_names_the_member(brand, member, customer):
    assert f"Block {customer.email}" in text(browser(staff(brand)).get(act(member, "block_one")))


def test_nothing_is_noted_once_the_persons_data_was_erased(brand, customer, member):
    client = browser(staff(brand))
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    answer = client.post(act(member, "note"), {"text": "Called twice"}, follow=True)

    assert "The note is not saved" in text(answer)
    assert not MemberNote.objects.exists()
