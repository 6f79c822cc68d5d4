"""Rewards on a member's page: staff redeem one for the member, or mark an open code as used."""

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands import audit_log
from brands.audit_log import AuditedChange
from brands.identity.roles import ACT, USE, VIEW, brand_scope
from core.api.idempotency import idempotent_id
from core.errors import DomainError
from core.numbers import is_id
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption, Reward
from loyalty.points import accounts
from loyalty.rewards import codes, pools, redeem, till
from loyalty.rewards.redeem import RedemptionRequest
from portal.base.audit_mixin import audit_context
from portal.base.confirmation import ConfirmedAction, ReasonForm
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.lists import local_time
from portal.lists.number_columns import format_points
from portal.timeline.sources import address_of
from portal.undo import offers
from portal.unfold import SelectWidget, action

REDEMPTION = "loyalty.redemption"
LAST = 200  # how many recent redemptions are checked for open codes


class RewardChoice(forms.ModelChoiceField):  # type: ignore[type-arg] # not generic at run time
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name}, {format_points(obj.cost)}"


class RewardForm(ReasonForm):
    """Asks for the reward and the reason. `key` is new with each page, so a form submitted twice redeems once."""

    reward = RewardChoice(label=gettext_lazy("Reward"), queryset=Reward.objects.none(), widget=SelectWidget)
    key = forms.UUIDField(widget=forms.HiddenInput)
    field_order = ("reward", "reason", "key")

    def __init__(self, member: UserPoints, data: Any = None) -> None:
        super().__init__(data, initial={"key": uuid4()})
        rewards = Reward.objects.offered(timezone.now()).filter(brand=member.brand_id).order_by("cost", "pk")
        self.fields["reward"].queryset = rewards  # type: ignore[attr-defined] # of a ModelChoiceField


@dataclass(frozen=True, slots=True)
class OpenCode:
    """A reward that is not handed over yet. `key` makes a double click use it once."""

    redemption: int
    key: UUID
    name: str
    code: str
    address: str
    ends: SafeString | str


class RewardsOfMember(TenantAdmin):
    """Actions on rewards, as part of the model admin of members."""

    def own_views(self) -> dict[str, Any]:
        return {"use": ("<id:pk>/use/", self.use_view), **super().own_views()}

    def has_give_reward_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        member = self.addressed_row(request, object_id)
        is_open = member is not None and member.user.is_active and member.status == UserPoints.Status.ACTIVE
        return is_open and self.may(request, ACT, member) and member.brand_id in rewards_seen(request)

    @action(description=gettext_lazy("Give a reward"), url_path="reward", icon="redeem", permissions=["give_reward"])
    def give_reward(self, request: HttpRequest, object_id: str) -> HttpResponse:
        member: UserPoints = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=_("Give %(member)s a reward") % {"member": member.display_name},
            paragraphs=[
                _("The reward is paid from the balance, which is %(balance)s. The member gets the reward's code.")
                % {"balance": format_points(member.points)},
                _("To give it as a present, adjust the points first."),
            ],
            form=partial(RewardForm, member),
            button=_("Give the reward"),
        )
        return action.respond(self, request, member, partial(self.reward_taken, request, member))

    def reward_taken(self, request: HttpRequest, member: UserPoints, answers: dict[str, Any]) -> None:
        context = audit_context(request, answers["reason"])
        # A namespace of its own: a posted key must not collide with the request key of another redemption.
        key = idempotent_id("given by staff", str(answers["key"]))
        accounts.lock(account=member.pk)  # a second click waits here, so that only the first one is logged
        before = Redemption.objects.filter(user_point=member, request_key=key).exists()
        redemption = redeem.redeem(
            RedemptionRequest(member.brand_id, member.user_id, answers["reward"].pk, key, context.at)
        )
        if not before:
            changes = {"reward": (None, redemption.name)}
            rows = [AuditedChange(member, member.brand_id, changes)]
            audit_log.record(audit_context=context, action=gettext_noop("Reward given"), rows=rows)
        if pools.code_of(redemption):
            text = _("%(reward)s now belongs to the member, who sees the partner's code in the app.")
        else:
            text = _("%(reward)s now belongs to the member. It is under “Rewards to hand over”.")
        self.message_user(request, text % {"reward": redemption.name}, messages.SUCCESS)

    def use_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Mark one of the member's codes as used, as the till does."""
        member: UserPoints = self.get_object(request, str(pk))
        if member.brand_id not in brand_scope(request.user, USE, REDEMPTION):
            raise PermissionDenied
        if request.method == "POST":
            self.use(request, member, request.POST.get("redemption", ""), request.POST.get("key", ""))
        return redirect("admin:loyalty_userpoints_change", member.pk)

    def use(self, request: HttpRequest, member: UserPoints, number: str, key: str) -> None:
        rows = codes_for_the_till().filter(user_point__in=member.ledger_accounts).select_related("brand")
        redemption = rows.filter(pk=number).first() if is_id(number) else None
        try:
            request_key = UUID(key)
        except ValueError:
            redemption = None
        if redemption is None:
            self.message_user(request, _("This member has no such code. Load the page again."), messages.ERROR)
            return
        try:
            with transaction.atomic():
                accounts.lock(account=redemption.user_point_id)  # as in `reward_taken`
                again = rows.filter(pk=redemption.pk, used_request=request_key).exists()
                till.use(redemption=redemption, at=timezone.now(), by=staff_user(request), request=request_key)
                if not again:
                    self.record_action(request, [redemption], gettext_noop("Used at the till"))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return
        offers.report_with_undo(
            request,
            _("Used. Hand over: %(reward)s") % {"reward": redemption.name},
            "redemption",
            brand_id=redemption.brand_id,
            arguments={"redemption": redemption.pk, "request": str(request_key)},
        )


def rewards_seen(request: HttpRequest) -> Any:
    """The brands whose rewards the user may see."""
    return brand_scope(request.user, VIEW, "loyalty.reward")


def codes_for_the_till() -> QuerySet[Redemption]:
    """Redemptions that are handed over at the brand's own till, and not by a partner."""
    return Redemption.objects.filter(pool_code=None).select_related("user_point")


def open_codes(request: HttpRequest, member: UserPoints) -> list[OpenCode] | None:
    """Codes that the till would accept, newest first, among the last LAST redemptions of each account.

    None if the user may not see redemptions.
    """
    if member.brand_id not in brand_scope(request.user, VIEW, REDEMPTION):
        return None
    last = [
        row
        for account in member.ledger_accounts
        for row in codes_for_the_till().filter(user_point=account).order_by("-pk")[:LAST]
    ]
    now = timezone.now()
    return [
        OpenCode(
            redemption=row.pk,
            key=uuid4(),
            name=row.name,
            code=codes.masked(row.code),
            address=address_of(row),
            ends=local_time.display_moment(row.expires_at, member.brand.zone) if row.expires_at else "",
        )
        for row in sorted(last, key=lambda row: -row.pk)
        if till.state_of(row, now) == "good"
    ]


def may_use(request: HttpRequest, member: UserPoints) -> bool:
    return member.brand_id in brand_scope(request.user, USE, REDEMPTION)
