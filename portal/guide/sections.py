"""Which section of the guide belongs to which page of the portal."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from portal.guide import markdown
from portal.guide.markdown import Section

START = "portal"
# Pages of docs/ that staff read, in the order of their work.
PAGES = (
    START,
    "dashboard",
    "campaigns",
    "earning-rules",
    "level-periods",
    "rewards",
    "referrals",
    "programme",
    "returns",
    "segments",
    "notifications",
    "broadcasts",
    "wallets",
    "scan-page",
    "guessing",
    "webhooks",
    "events",
    "external-system",
    "permissions",
    "glossary",
)
# Of hand-made pages, by the name of their address; of all others, by the model of their rows.
BY_ADDRESS = {
    "index": "portal#home",
    "loyalty_redemption_till": "portal#rewards-and-the-till",
    "campaigns_campaign_page": "campaigns#the-page-of-a-campaign",
    "campaigns_campaign_plan": "campaigns#making-one",
    "campaigns_campaign_add": "campaigns#making-one",
    "brands_brand_add": "portal#a-new-brand",
    "own_account": "portal#signing-in",
    "password_change": "portal#signing-in",
    "campaigns_campaign_new": "campaigns#making-one",
}
BY_ENDING = {
    "_export": "portal#take-a-list-away",
    "_import": "portal#import-and-export",
    "_import_preview": "portal#import-and-export",
    "_history": "portal#all-pages",
}
BY_MODEL = {
    "authcodes.authcode": "portal#codes",
    "authcodes.batchrange": "portal#make-codes-batches",
    "authcodes.codechange": "portal#codes",
    "authcodes.codeprefix": "portal#make-codes-batches",
    "authcodes.fakereport": "portal#scans",
    "authcodes.import": "portal#say-which-code-is-on-which-product",
    "authcodes.labellayout": "portal#print",
    "authcodes.printer": "portal#print",
    "authcodes.printrun": "portal#print",
    "authcodes.product": "portal#make-codes-batches",
    "authcodes.recall": "portal#recall-products",
    "authcodes.scan": "portal#scans",
    "authcodes.withdrawnrecall": "portal#recall-products",
    "brands.apikey": "portal#webhooks-and-other-systems",
    "brands.auditlogentry": "portal#all-pages",
    "brands.brand": "portal#a-new-brand",
    "brands.brandquota": "portal#all-pages",
    "brands.legaltext": "scan-page#what-it-shows",
    "brands.savedlist": "portal#saved-lists-and-scheduled-reports",
    "brands.staffrole": "portal#who-may-do-what",
    "brands.stoppedattempts": "guessing#who-sees-it",
    "brands.user": "portal#who-may-do-what",
    "campaigns.campaign": "campaigns#what-it-counts",
    "campaigns.earningrule": "earning-rules#making-one",
    "campaigns.eventkind": "events#own-kinds",
    "campaigns.replay": "earning-rules#replaying-past-actions",
    "campaigns.rewardclaim": "campaigns#what-milestones-give",
    "campaigns.userloyaltycampaign": "campaigns#what-it-counts",
    "events.event": "events#life-of-an-event",
    "jobs.job": "portal#jobs",
    "jobs.reportschedule": "portal#saved-lists-and-scheduled-reports",
    "loyalty.brandlevel": "portal#what-earns-points",
    "loyalty.broadcast": "broadcasts#writing-one",
    "loyalty.currencyrate": "programme#figures",
    "loyalty.externalsystem": "external-system#external-loyalty-system",
    "loyalty.levelchange": "level-periods#at-the-end-of-a-level",
    "loyalty.loyaltytransaction": "portal#members",
    "loyalty.notificationdelivery": "notifications#the-log",
    "loyalty.notificationsegment": "broadcasts#notifications-that-only-a-segment-gets",
    "loyalty.notificationsettings": "notifications#channels",
    "loyalty.notificationtemplate": "notifications#words",
    "loyalty.orderreturn": "returns#returns",
    "loyalty.pointcost": "programme#the-cost-per-point",
    "loyalty.pointsapproval": "portal#points-above-the-ceiling",
    "loyalty.pointsrollup": "programme#figures",
    "loyalty.pointtransfer": "rewards#points-from-member-to-member",
    "loyalty.poolcode": "rewards#partner-codes",
    "loyalty.redemption": "portal#rewards-and-the-till",
    "loyalty.referral": "referrals#what-staff-see",
    "loyalty.referralprogramme": "referrals#the-programme",
    "loyalty.reward": "portal#rewards-and-the-till",
    "loyalty.segment": "segments#making-one",
    "loyalty.senderdomain": "notifications#channels",
    "loyalty.suppressedaddress": "portal#notifications",
    "loyalty.userpoints": "portal#members",
    "loyalty.walletissuer": "wallets#what-a-customer-does",
    "loyalty.walletpass": "portal#wallet-cards",
    "loyalty.webhookdelivery": "webhooks#delivery",
    "loyalty.webhookendpoint": "portal#webhooks-and-other-systems",
    "staff_login.invitation": "portal#who-may-do-what",
    "staff_login.signinsettings": "portal#signing-in",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A section of a page, as search shows it."""

    page: str
    page_title: str
    section: Section


def folder() -> Path:
    return Path(settings.BASE_DIR) / "docs"


def text_of(name: str) -> str:
    """Empty for a page that this installation does not have."""
    path = folder() / f"{name}.md"
    return path.read_text(encoding="utf-8") if name in PAGES and path.is_file() else ""


@cache
def places() -> tuple[Place, ...]:
    """Every section of the guide. Read once: an installation's guide does not change while it runs."""
    result = []
    for name in PAGES:
        sections = markdown.sections_of(text_of(name))
        result += [Place(name, sections[0].title, section) for section in sections]
    return tuple(result)


def address_of(name: str) -> str:
    """Of a page, or of `page#section`."""
    page, mark, section = name.partition("#")
    return f"{reverse('admin:help_page', args=[page])}{mark}{section}"


def section_for(request: HttpRequest) -> str:
    """Of the page that is open; the guide's beginning where none is its own."""
    match = request.resolver_match
    name = (match.url_name or "") if match else ""
    if name in BY_ADDRESS:
        return BY_ADDRESS[name]
    if ending := next((target for end, target in BY_ENDING.items() if name.endswith(end)), ""):
        return ending
    model = next((label for label in BY_MODEL if name.startswith(f"{label.replace('.', '_')}_")), "")
    return BY_MODEL.get(model, START)
