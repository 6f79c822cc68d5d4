"""The content of an empty list: its illustration, and the button for the first step.

If the user may add a row, that is the step. Lists that other actions fill declare theirs here.
"""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from brands.identity.roles import ADD, brand_scope
from portal.base.links import admin_address
from portal.shell.navigation import address_of, entries, may_see

OTHER = "inbox"  # the illustration of lists without a group


@dataclass(frozen=True, slots=True)
class Step:
    """`title` says what to do on the list of `label`, or on its form for a new row."""

    title: Any
    label: str
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Button:
    title: str
    link: str


CHOOSE_BATCH = Step(_("Choose a batch to print"), "authcodes.batchrange")
CREATE_BATCH = Step(_("Create a batch"), "authcodes.batchrange", adds=True)
CREATE_CAMPAIGN = Step(_("Create a campaign"), "campaigns.campaign", adds=True)
CREATE_REWARD = Step(_("Create a reward"), "loyalty.reward", adds=True)
INVITE = Step(_("Invite a colleague"), "staff_login.invitation", adds=True)
REWARDS = Step(_("Open the rewards"), "loyalty.reward")
FIRST_STEPS = {
    "authcodes.authcode": CREATE_BATCH,
    "authcodes.codechange": CHOOSE_BATCH,
    "authcodes.labellayout": CHOOSE_BATCH,
    "authcodes.printrun": CHOOSE_BATCH,
    "authcodes.scan": CHOOSE_BATCH,
    "authcodes.withdrawnrecall": Step(_("Open the recalls"), "authcodes.recall"),
    "brands.savedlist": Step(_("Open the codes"), "authcodes.authcode"),
    "brands.user": INVITE,
    "campaigns.replay": Step(_("Open the earning rules"), "campaigns.earningrule"),
    "campaigns.rewardclaim": CREATE_CAMPAIGN,
    "campaigns.userloyaltycampaign": CREATE_CAMPAIGN,
    "events.event": CHOOSE_BATCH,
    "jobs.job": CREATE_BATCH,
    "jobs.reportschedule": Step(_("Open the saved lists"), "brands.savedlist"),
    "loyalty.levelchange": Step(_("Open the levels"), "loyalty.brandlevel"),
    "loyalty.loyaltytransaction": CHOOSE_BATCH,
    "loyalty.notificationdelivery": Step(_("Choose what is sent"), "loyalty.notificationsettings"),
    "loyalty.orderreturn": Step(_("Create an API key"), "brands.apikey", adds=True),
    "loyalty.pointsrollup": Step(_("Open the members"), "loyalty.userpoints"),
    "loyalty.pointtransfer": Step(_("Open the brand's settings"), "brands.brand"),
    "loyalty.poolcode": REWARDS,
    "loyalty.redemption": CREATE_REWARD,
    "loyalty.referral": Step(_("Set up referrals"), "loyalty.referralprogramme"),
    "loyalty.userpoints": CHOOSE_BATCH,
    "loyalty.walletpass": Step(_("Upload a wallet certificate"), "loyalty.walletissuer", adds=True),
    "loyalty.webhookdelivery": Step(_("Create a webhook"), "loyalty.webhookendpoint", adds=True),
}


def button(request: HttpRequest, label: str) -> Button | None:
    """The button, for users who may take the step."""
    step = FIRST_STEPS.get(label)
    if step is None:
        return None
    if not step.adds:
        return Button(str(step.title), address_of(step.label)) if may_see(request, step.label) else None
    if not brand_scope(request.user, ADD, step.label):
        return None
    return Button(str(step.title), admin_address(step.label, "add"))


def illustration(label: str) -> str:
    """The name of a drawing in portal/illustrations.svg: there is one for each group of the sidebar."""
    return next((group.icon for group, pages in entries().items() if label in pages), OTHER)
