"""The page of a member. It replaces Django's form, because its numbers come from the ledger and are not editable."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from brands.identity.roles import VIEW, brand_scope
from loyalty.admin.member_actions.merges import Merging
from loyalty.admin.member_page.balance_chart import HEIGHT, WIDTH, chart_of, last_entries
from loyalty.admin.member_page.header import header_of
from loyalty.admin.member_page.notes import MAX_DISPLAYED, NoteForm, Notes, notes_of
from loyalty.admin.member_page.rewards import RewardsOfMember, may_use, open_codes
from loyalty.models.accounts import UserPoints
from loyalty.models.members.consents import Consent
from loyalty.models.notifications import Channel, Language, Topic
from loyalty.notifications import devices, preferences
from portal.base.links import admin_address
from portal.lists import local_time
from portal.timeline import reading
from portal.timeline.sources import Subject, TimelineSource, visible_to

KIND, OLDER = "kind", "older"
LEDGER = "loyalty.loyaltytransaction"
# Lists without a search by customer. The timeline does not link to them.
WITHOUT_LIST = {"loyalty.userpoints", "brands.auditlogentry"}
# Actions with their own buttons; the others are in a menu.
FIRST = ("adjust", "give_reward", "block_one", "unblock_one")


@dataclass(frozen=True, slots=True)
class Chip:
    """A toggle for one kind of timeline entry. `address` is the page with the kind toggled."""

    title: str
    address: str
    is_chosen: bool


class MemberView(RewardsOfMember, Notes, Merging):
    """The member's page and its actions."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """A GET request reads the row once, though many permission checks ask for it."""
        if request.method != "GET":
            return super().get_object(request, object_id, from_field)
        known: dict[str, Any] = vars(request).setdefault("members_read", {})
        if str(object_id) not in known:
            known[str(object_id)] = super().get_object(request, object_id, from_field)
        return known[str(object_id)]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        member: UserPoints = self.get_object(request, unquote(object_id))
        if request.method == "POST" or not self.may(request, VIEW, member):
            raise PermissionDenied
        with timezone.override(member.brand.zone):
            context = {
                "original": member,
                "adminform": None,  # marks the page for Django's breadcrumb as a row's own page
                "member": member,
                **self.action_context(request, member),
                **self.sections(request, member),
                "merges": self.merges_of(request, member),
                **(extra_context or {}),
            }
            return self.render_page(request, "admin/loyalty/member/page.html", context).render()

    def sections(self, request: HttpRequest, member: UserPoints) -> dict[str, Any]:
        subject = subject_of(request, member)
        kinds = list(visible_to(request.user, member.brand))
        sees_ledger = any(source.label == LEDGER for source in kinds)
        entries = last_entries(subject.accounts) if sees_ledger else []
        return {
            "header": header_of(member, name=member.display_name),
            "zone": member.brand.zone,
            **timeline_of(request, member, subject, kinds),
            "chart": chart_of(entries, balance=member.points, zone=member.brand.zone),
            "chart_width": WIDTH,
            "chart_height": HEIGHT,
            "open_codes": open_codes(request, member),
            "may_use": may_use(request, member),
            "campaigns": campaigns_of(request, member),
            "notes": notes_of(member),
            "max_notes": MAX_DISPLAYED,
            "note_form": NoteForm(),
            **preferences_of(request, member),
        }

    def action_context(self, request: HttpRequest, member: UserPoints) -> dict[str, Any]:
        """The permitted actions: the most common ones as buttons, the others in a menu."""
        permitted: list[tuple[str, Any, str]] = []
        page: Any = self  # the type stubs lack what django-unfold adds
        for action in page.get_actions_detail(request, member.pk):
            name = action.action_name.removeprefix("loyalty_userpoints_")
            permitted.append((name, action, reverse(f"admin:{action.action_name}", args=[member.pk])))
        history = reverse("admin:loyalty_userpoints_history", args=[member.pk])
        return {
            "page_actions": [(action, address) for name, action, address in permitted if name in FIRST],
            "more_actions": [(action, address) for name, action, address in permitted if name not in FIRST],
            "write_to": member.user.email if member.user.is_active else "",
            "history": history,
        }


def subject_of(request: HttpRequest, member: UserPoints) -> Subject:
    """The member, with the accounts that were merged into theirs."""
    accounts = member.ledger_accounts
    users = [member.user_id]
    if len(accounts) > 1:
        users += UserPoints.objects.filter(pk__in=accounts[1:]).values_list("user_id", flat=True)
    return Subject(request, member.brand, accounts, users)


def timeline_of(
    request: HttpRequest, member: UserPoints, subject: Subject, kinds: list[TimelineSource]
) -> dict[str, Any]:
    """One page of the timeline, and the chips that choose its kinds."""
    requested = set(request.GET.getlist(KIND))
    chosen = [source for source in kinds if source.name in requested] or kinds
    page = reading.read(subject, kinds=chosen, balance=member.points, older=request.GET.get(OLDER, ""))
    names = [source.name for source in chosen] if len(chosen) < len(kinds) else []

    def switched(name: str) -> list[str]:
        return [each for each in names if each != name] if name in names else [*names, name]

    lists = [(source.title, list_address(source, member)) for source in chosen if source.label not in WITHOUT_LIST]
    return {
        "lines": page.lines,
        "is_first": page.is_first,
        "newest": address_with(names),
        "older": address_with(names, page.older) if page.older else "",
        "chips": [
            Chip(_("All"), address_with([]), not names),
            *(Chip(str(each.title), address_with(switched(each.name)), each.name in names) for each in kinds),
        ],
        "lists": lists,
        "joined": local_time.display_moment(member.enrolled_at, member.brand.zone) if not names else "",
    }


def address_with(names: list[str], older: str = "") -> str:
    """The URL of this page with these kinds, at the timeline."""
    query = urlencode([*((KIND, name) for name in names), *([(OLDER, older)] if older else [])])
    return f"?{query}#timeline"


def list_address(source: TimelineSource, member: UserPoints) -> str:
    listed = admin_address(source.label, "changelist")
    return f"{listed}?{urlencode({'q': member.user.email})}"


def campaigns_of(request: HttpRequest, member: UserPoints) -> Any:
    """The member's campaigns, or None for viewers without permission."""
    return import_string(settings.CUSTOMER_CAMPAIGNS)(request, member.user_id, member.brand)


def preferences_of(request: HttpRequest, member: UserPoints) -> dict[str, Any]:
    """Consents of the member, and their preferences if the viewer may see notifications."""
    consents = list(Consent.objects.filter(user=member.user_id, brand=member.brand_id).order_by("-consented_at")[:5])
    agreed = [(local_time.display_moment(each.consented_at, member.brand.zone), each) for each in consents]
    if member.brand_id not in brand_scope(request.user, VIEW, "loyalty.notificationdelivery"):
        return {"consents": agreed}
    choices = preferences.read(member.user_id, member.brand_id)
    return {
        "consents": agreed,
        "preferences": [
            (topic.label, [channel.label for channel in Channel if choices.allows(topic, channel)]) for topic in Topic
        ],
        "language": Language(choices.language).label if choices.language else "",
        "devices": len(devices.alive(user_id=member.user_id, brand_id=member.brand_id)),
    }
