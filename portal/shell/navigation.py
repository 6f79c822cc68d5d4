"""The portal's sidebar: which pages there are, grouped by what people come to do."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from brands.identity.roles import VIEW, reach

GROUPS: dict[Any, dict[str, str]] = {
    _("Products & codes"): {
        "authcodes.batchrange": "inventory_2",
        "authcodes.authcode": "qr_code_2",
        "authcodes.codeprefix": "bookmark",
        "authcodes.scan": "qr_code_scanner",
        "authcodes.product": "category",
        "authcodes.fakereport": "flag_circle",
        "authcodes.recall": "report",
        "authcodes.withdrawnrecall": "undo",
        "authcodes.codechange": "history",
        "authcodes.import": "upload_file",
        "authcodes.printrun": "print",
        "authcodes.printer": "straighten",
        "jobs.job": "pending_actions",
    },
    _("Members"): {
        "loyalty.userpoints": "group",
        "loyalty.loyaltytransaction": "receipt_long",
        "loyalty.redemption": "confirmation_number",
        "loyalty.walletpass": "wallet",
        "campaigns.userloyaltycampaign": "trending_up",
        "campaigns.rewardclaim": "redeem",
    },
    _("Programme"): {
        "campaigns.campaign": "flag",
        "loyalty.brandlevel": "military_tech",
        "loyalty.reward": "featured_seasonal_and_gifts",
        "campaigns.earningrule": "calculate",
        "loyalty.pointsapproval": "approval",
        "loyalty.currencyrate": "currency_exchange",
    },
    _("Notifications"): {
        "loyalty.notificationdelivery": "outgoing_mail",
        "loyalty.notificationtemplate": "edit_note",
        "loyalty.notificationsettings": "notifications",
        "loyalty.senderdomain": "domain_verification",
        "loyalty.suppressedaddress": "unsubscribe",
    },
    _("Integrations"): {
        "loyalty.webhookendpoint": "webhook",
        "loyalty.webhookdelivery": "outbox",
        "loyalty.externalsystem": "hub",
        "loyalty.walletissuer": "verified_user",
        "events.event": "bolt",
    },
    _("Settings"): {
        "brands.brand": "storefront",
        "brands.staffrole": "badge",
        "staff_login.invitation": "person_add",
        "staff_login.signinsettings": "passkey",
        "brands.user": "person",
        "brands.apikey": "key",
        "brands.brandquota": "data_usage",
        "brands.stoppedattempts": "gpp_maybe",
        "brands.auditlogentry": "history_edu",
    },
}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """What settings.UNFOLD["SIDEBAR"]["navigation"] calls: the groups with the pages that this person may see."""
    overview = {"title": _("Overview"), "icon": "dashboard", "link": reverse("admin:index")}
    groups = [
        {
            "title": title,
            "separator": True,
            "items": [item(label, icon) for label, icon in pages.items() if may_see(request, label)],
        }
        for title, pages in GROUPS.items()
    ]
    return [{"items": [overview]}, *(group for group in groups if group["items"])]


def may_see(request: HttpRequest, label: str) -> bool:
    return bool(reach(request.user, VIEW, label))


def item(label: str, icon: str) -> dict[str, Any]:
    address = reverse(f"admin:{label.replace('.', '_')}_changelist")
    return {"title": list_name(label), "icon": icon, "link": address}


def list_name(label: str) -> str:
    """What a list is called: by its page, or the plural of its rows."""
    page = page_of(label)
    return str(capfirst(page.list_name or page.opts.verbose_name_plural))


def page_of(label: str) -> Any:
    return admin.site.get_model_admin(apps.get_model(label))
