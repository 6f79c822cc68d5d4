"""Staff actions on a member's page: notes, handing over rewards, and redeeming one for the member."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from core import personal_data
from loyalty.admin.member_page.notes import MAX_DISPLAYED
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


def action_url(member, action):
    return address(MEMBERS, action, member.pk)


def add_note(client, member, note):
    return client.post(action_url(member, "note"), {"text": note}, follow=True)


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_staff_add_notes_and_delete_their_own(brand, member, role):
    client = browser(staff(brand, role=role, first_name="Grace", last_name="Hopper"))

    page = text(add_note(client, member, "Prefers\ncalls"))

    assert "The note is saved." in page
    assert "Prefers\ncalls" in page
    assert "Grace Hopper" in page
    [note] = MemberNote.objects.all()
    deleted = text(client.post(action_url(member, "note"), {"delete": note.pk}, follow=True))
    assert "The note is deleted." in deleted
    assert not MemberNote.objects.exists()


def test_page_says_if_it_leaves_older_notes_out(brand, member):
    owner = staff(brand)
    client, row = browser(owner), {"brand": brand, "account": member, "author": owner}
    MemberNote.objects.bulk_create(MemberNote(**row, text=f"Note {number}.") for number in range(MAX_DISPLAYED + 1))

    page = text(client.get(action_url(member, "change")))

    assert ("Note 0." in page, "Note 1." in page, "The last 50 notes." in page) == (False, True, True)
    MemberNote.objects.filter(text__in=["Note 0.", "Note 1."]).delete()
    assert "The last 50 notes." not in text(client.get(action_url(member, "change")))


def test_only_the_author_can_delete_a_note(brand, member):
    add_note(browser(staff(brand, role="support")), member, "Mine")
    owner = browser(staff(brand))
    [note] = MemberNote.objects.all()

    assert "Delete your note" not in text(owner.get(action_url(member, "change")))
    for note_id in (note.pk, "x", "9" * 30, ""):
        assert "Only the author of a note can delete it." in text(
            owner.post(action_url(member, "note"), {"delete": note_id}, follow=True)
        )
    assert MemberNote.objects.count() == 1


def test_empty_or_too_long_note_is_rejected_without_losing_its_text(brand, member):
    client = browser(staff(brand))

    empty, too_long = add_note(client, member, "  "), add_note(client, member, "x" * 2001)

    assert "This field is required." in text(empty)
    assert "x" * 2001 in text(too_long)
    assert not MemberNote.objects.exists()


def test_notes_are_erased_with_the_member_and_not_exported(brand, customer, member):
    owner = staff(brand)
    add_note(browser(owner), member, "Grumpy on the phone")
    refresh.refresh(at=timezone.now())
    other_customer = factories.customer(brand)
    add_note(browser(owner), factories.account(other_customer, brand), "Kind")

    exported = "".join(personal_data.parts(user_id=customer.pk, brand_id=brand.pk))
    erasure.erase(
        user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(owner, timezone.now(), "", "Asked")
    )

    assert "Grumpy" not in exported
    assert list(MemberNote.objects.values_list("text", flat=True)) == ["Kind"]
    assert not ListedMember.objects.filter(account=member).exists()


def open_redemption(brand, customer, name="A mug"):
    factories.points(customer, brand, 50)
    return factories.redemption(customer, factories.reward(brand, name=name, cost=10))


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_open_redemption_code_is_used_once(brand, customer, member, role):
    redemption = open_redemption(brand, customer)
    client = browser(staff(brand, role=role))
    [code] = client.get(action_url(member, "change")).context["open_codes"]
    form_data = {"redemption": code.redemption, "key": code.key}

    answers = [text(client.post(action_url(member, "use"), form_data, follow=True)) for _ in range(2)]

    assert all("Used. Hand over: A mug" in answer for answer in answers)
    assert redemption.code not in answers[0]
    redemption.refresh_from_db()
    assert redemption.status == Redemption.Status.USED
    assert AuditLogEntry.objects.filter(action="Used at the till").count() == 1
    again = text(client.post(action_url(member, "use"), {**form_data, "key": str(uuid4())}, follow=True))
    assert "Used. Hand over" not in again
    assert client.get(action_url(member, "change")).context["open_codes"] == []


def test_code_of_another_member_cannot_be_used(brand, customer, member):
    other_customer = factories.customer(brand)
    redemption = open_redemption(brand, other_customer)
    client = browser(staff(brand))

    for redemption_id, key in ((redemption.pk, uuid4()), ("x", uuid4()), (redemption.pk, "x"), ("", "")):
        answer = client.post(action_url(member, "use"), {"redemption": redemption_id, "key": key}, follow=True)
        assert "This member has no such code." in text(answer)
    redemption.refresh_from_db()
    assert redemption.status == Redemption.Status.ISSUED


def test_staff_redeem_a_reward_for_a_member_once_with_a_reason(brand, customer, member):
    factories.points(customer, brand, 50)
    reward = factories.reward(brand, name="A mug", cost=20)
    client = browser(staff(brand))
    form = client.get(action_url(member, "give_reward")).context["form"]
    form_data = {"reward": reward.pk, "reason": "Broken parcel", "key": form.initial["key"]}

    for _ in range(2):
        client.post(action_url(member, "give_reward"), form_data)

    [redemption] = Redemption.objects.all()
    member.refresh_from_db()
    assert (redemption.user_point_id, member.points) == (member.pk, 30)
    [entry] = AuditLogEntry.objects.filter(action="Reward given")
    assert (entry.reason, entry.row_id) == ("Broken parcel", str(member.pk))


def test_posted_key_cannot_prevent_the_reward_of_a_milestone(brand, customer, member):
    """Staff could compute the key of a milestone's reward, and post it with another reward."""
    factories.points(customer, brand, 50)
    milestone = factories.milestone(factories.campaign(brand), 1)
    key = request_key_of(milestone.pk, 1)
    mug = factories.reward(brand, cost=20)

    browser(staff(brand)).post(action_url(member, "give_reward"), {"reward": mug.pk, "reason": "x", "key": key})

    assert Redemption.objects.get().request_key != key
    grant_reward(account=member, milestone_id=milestone.pk, name="A mug", at=timezone.now())
    assert Redemption.objects.count() == 2


def test_rewards_without_cost_and_expired_rewards_are_not_offered(brand, member):
    mug = factories.reward(brand, name="A mug", cost=20)
    factories.reward(brand, name="Only won", cost=None)
    factories.reward(brand, name="Over", cost=5, valid_until=timezone.now() - timedelta(days=1))

    page = browser(staff(brand)).get(action_url(member, "give_reward"))

    assert page.status_code == 200
    assert list(page.context["form"].fields["reward"].queryset) == [mug]


def test_reward_that_cannot_be_redeemed_shows_an_error(brand, customer, member):
    reward = factories.reward(brand, cost=20)
    foreign_reward = factories.reward(factories.brand(), cost=1)
    client = browser(staff(brand))

    unaffordable_answer = client.post(
        action_url(member, "give_reward"), {"reward": reward.pk, "reason": "x", "key": uuid4()}
    )
    no_reason_answer = client.post(
        action_url(member, "give_reward"), {"reward": reward.pk, "reason": " ", "key": uuid4()}
    )
    foreign_answer = client.post(
        action_url(member, "give_reward"), {"reward": foreign_reward.pk, "reason": "x", "key": uuid4()}
    )

    assert unaffordable_answer.context["form"].non_field_errors()
    assert "reason" in no_reason_answer.context["form"].errors
    assert "reward" in foreign_answer.context["form"].errors
    assert not Redemption.objects.exists()


@pytest.mark.parametrize(("role", "is_allowed"), [("owner", True), ("manager", True), ("support", False)])
def test_page_offers_only_actions_that_the_role_allows(brand, member, role, is_allowed):
    page = text(browser(staff(brand, role=role)).get(action_url(member, "change")))

    offered = {action: action_url(member, action) in page for action in ("adjust", "give_reward", "block_one", "merge")}
    assert set(offered.values()) == {is_allowed}, offered
    assert (action_url(member, "erase") in page) == (role == "owner")
    assert action_url(member, "correct_name") in page


def test_blocking_page_names_the_member(brand, member, customer):
    assert f"Block {customer.email}" in text(browser(staff(brand)).get(action_url(member, "block_one")))


def test_note_cannot_be_added_after_erasure(brand, customer, member):
    client = browser(staff(brand))
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    answer = client.post(action_url(member, "note"), {"text": "Called twice"}, follow=True)

    assert "The note is not saved" in text(answer)
    assert not MemberNote.objects.exists()
