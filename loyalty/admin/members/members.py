"""Page: a brand's members. Staff can block members and adjust points with a reason."""

from decimal import Decimal
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.identity import customer_search
from brands.identity.roles import ACT
from brands.models.people import User
from core.errors import DomainError
from core.forms.digits import AsciiDigits
from core.numbers import format_number
from loyalty.admin.member_actions.corrections import Corrections
from loyalty.admin.member_actions.data_exports import DataExport
from loyalty.admin.member_actions.enrolment import Enrolment
from loyalty.admin.member_actions.erasure import Erasure
from loyalty.admin.member_page.page import MemberView
from loyalty.admin.members.listing import MemberList
from loyalty.admin.members.resource import MemberResource
from loyalty.errors import PointsAlreadyClaimed
from loyalty.members import blocking, numbers
from loyalty.models.accounts import UserPoints
from loyalty.points import adjustments
from portal.base.audit_mixin import audit_context
from portal.base.confirmation import ConfirmedAction
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.import_export.importable import ImportingAdmin
from portal.lists.number_columns import format_points
from portal.undo import offers
from portal.unfold import TextareaWidget, TextWidget, action

SOME = 50  # the portal's search box shows the first of these


class AdjustmentForm(AsciiDigits, forms.Form):
    """Asks how many points to add or deduct, and why. `key` is new with each page, so a double submit adjusts once."""

    direction = forms.ChoiceField(
        choices=[("add", "add"), ("take", "take")],
        error_messages={"required": gettext_lazy("Choose Add points or Deduct points.")},
    )  # the button that was pressed
    amount = forms.DecimalField(
        label=gettext_lazy("Points"),
        min_value=Decimal("0.01"),
        max_digits=10,
        decimal_places=2,
        widget=TextWidget(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        widget=TextareaWidget(attrs={"rows": 3}),
        help_text=gettext_lazy("Shown to the customer in their history and to staff in the audit log."),
    )
    key = forms.UUIDField(widget=forms.HiddenInput)
    confirmed = forms.CharField(required=False, widget=forms.HiddenInput)

    @property
    def points(self) -> Decimal:
        """Negative for a deduction."""
        amount: Decimal = self.cleaned_data["amount"]
        return amount if self.cleaned_data["direction"] == "add" else -amount

    def lacks_confirmation(self) -> bool:
        """Whether the amount is large and the user has not confirmed this exact amount yet."""
        large = abs(self.points) > settings.ADJUSTMENT_CONFIRM_ABOVE
        return large and self.cleaned_data["confirmed"] != str(self.points)

    def ask_to_confirm(self) -> None:
        self.data = {**self.data.dict(), "confirmed": str(self.points)}  # type: ignore[attr-defined] # a QueryDict


def name_and_email(member: UserPoints) -> str:
    """Name and e-mail address, for users who may view members."""
    name = " ".join(member.names).strip()
    return f"{name}, {member.user.email}" if name else member.user.email


def switch_title(accounts: list[UserPoints], *, blocks: bool) -> str:
    """Names the member if there is only one."""
    if len(accounts) > 1:
        return _("Block members") if blocks else _("Unblock members")
    title = _("Block %(member)s") if blocks else _("Unblock %(member)s")
    return title % {"member": name_and_email(accounts[0])}


@admin.register(UserPoints)
class MemberAdmin(MemberView, MemberList, Corrections, Enrolment, DataExport, Erasure, ExportingAdmin, ImportingAdmin):
    role_permissions: ClassVar = {
        "owner": "view act erase correct",
        "manager": "view act correct",
        "support": "view correct",
    }
    sidebar = SidebarEntry(CUSTOMERS, 1, "group")
    export_kind = "export-members"
    resource = MemberResource
    customer_path = "user"
    search_fields = ("user__email__startswith", "user__first_name__istartswith", "user__last_name__istartswith")
    search_help_text = gettext_lazy("Parts of a name or e-mail address, or the barcode of a wallet pass.")
    actions = ("block", "unblock")
    actions_list = ("enrol",)
    actions_detail = (
        "adjust",
        "give_reward",
        "block_one",
        "unblock_one",
        "merge",
        "undo_merge",
        {
            "title": gettext_lazy("Personal data"),
            "items": ["correct_name", "change_address", "export_data", "erase"],
        },
    )

    def row_name(self, member: UserPoints) -> str:
        """The row's name in the breadcrumbs."""
        return member.display_name

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[UserPoints], search_term: str
    ) -> tuple[QuerySet[UserPoints], bool]:
        """Also finds the number in a pass's barcode, for barcode scanners."""
        account = numbers.read(search_term)
        if account is not None:
            return queryset.filter(pk=account), False
        if not search_term.strip():
            return queryset, False
        return self.filter_by_customers(request, queryset, search_term), False

    def customers(self, request: HttpRequest, typed: str) -> Any:
        """Without the usual limit on matches: this list is where staff search for customers."""
        return customer_search.find_all(typed, [brand.pk for brand in self.brands_seen(request)])

    def first_match(self, request: HttpRequest, rows: QuerySet[UserPoints], text: str) -> QuerySet[UserPoints]:
        """What the portal's search box shows: the first members who match the text."""
        brand_ids = [brand.pk for brand in self.brands_seen(request)]
        matches = rows.filter(user__in=customer_search.some(text, brand_ids, SOME))
        return matches.select_related("user", "brand").order_by("user__email", "pk")

    @admin.action(description=gettext_lazy("Block (no earning, no redeeming)"), permissions=["act"])
    def block(self, request: HttpRequest, queryset: QuerySet[UserPoints]) -> HttpResponse | None:
        accounts = self.chosen(request, queryset)
        return self.switch(request, accounts, UserPoints.Status.BLOCKED, "block") if accounts else None

    @admin.action(description=gettext_lazy("Unblock"), permissions=["act"])
    def unblock(self, request: HttpRequest, queryset: QuerySet[UserPoints]) -> HttpResponse | None:
        accounts = self.chosen(request, queryset)
        return self.switch(request, accounts, UserPoints.Status.ACTIVE, "unblock") if accounts else None

    def has_block_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_with_status(request, object_id, UserPoints.Status.ACTIVE)

    def has_unblock_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_with_status(request, object_id, UserPoints.Status.BLOCKED)

    @action(description=gettext_lazy("Block"), url_path="block", icon="block", permissions=["block"])
    def block_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.switch_one(request, object_id, UserPoints.Status.BLOCKED)

    @action(description=gettext_lazy("Unblock"), url_path="unblock", icon="lock_open", permissions=["unblock"])
    def unblock_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.switch_one(request, object_id, UserPoints.Status.ACTIVE)

    def switch_one(self, request: HttpRequest, object_id: str, status: UserPoints.Status) -> HttpResponse:
        member = self.get_object(request, object_id)
        self.remember(request, [member])
        return self.switch(request, [member], status)

    def switch(
        self, request: HttpRequest, accounts: list[UserPoints], status: UserPoints.Status, name: str = ""
    ) -> HttpResponse:
        """`name` is the list action that selected the accounts."""
        people = User.objects.in_bulk([account.user_id for account in accounts])
        for account in accounts:
            account.user = people[account.user_id]
        blocks = status == UserPoints.Status.BLOCKED
        chosen = [("action", name), *(("_selected_action", account.pk) for account in accounts)]
        action = ConfirmedAction(
            title=switch_title(accounts, blocks=blocks),
            paragraphs=[
                _("Blocked members cannot earn or redeem points or use their reward codes until they are unblocked.")
                if blocks
                else _("These members can earn and redeem points and use their reward codes again.")
            ],
            consequences=[f"{name_and_email(account)} · {format_points(account.points)}" for account in accounts],
            button=_("Block") if blocks else _("Unblock"),
            dangerous=blocks,
            resent=chosen if name else (),
        )
        return action.respond(
            self, request, None if name else accounts[0], partial(self.switched, request, accounts, status)
        )

    def switched(
        self, request: HttpRequest, accounts: list[UserPoints], status: UserPoints.Status, answers: dict[str, Any]
    ) -> None:
        changed = blocking.set_status(accounts=accounts, status=status, at=timezone.now())
        done = gettext_noop("Blocked") if status == UserPoints.Status.BLOCKED else gettext_noop("Unblocked")
        self.record_action(request, changed, done, reason=answers["reason"])
        offers.report_rows_with_undo(
            request, _(done), "members", changed, lambda keys: {"accounts": keys, "status": status.value}
        )

    def has_adjust_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        member = self.addressed_row(request, object_id)
        return member is not None and member.status != UserPoints.Status.MERGED and self.may(request, ACT, member)

    @action(description=gettext_lazy("Adjust points"), url_path="adjust", icon="exposure", permissions=["adjust"])
    def adjust(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The page that asks for the points and the reason. A large amount needs a second confirmation."""
        member = self.get_object(request, object_id)
        if not self.may(request, ACT, member):
            raise PermissionDenied
        form = AdjustmentForm(request.POST or None, initial={"key": uuid4()})
        asks = False
        if request.method == "POST" and form.is_valid():
            asks = form.lacks_confirmation()
            if asks:
                form.ask_to_confirm()
            elif self.adjusted(request, member, form):
                return redirect("admin:loyalty_userpoints_change", member.pk)
        context = {
            "title": _("Adjust the points of %(member)s") % {"member": name_and_email(member)},
            "original": member,  # for the breadcrumb
            "member": member,
            "name": name_and_email(member),
            "form": form,
            "asks": asks,
            "amount": format_points(abs(form.points)) if asks else "",
            "balance": format_number(member.points),
            "balance_then": format_number(member.points + form.points) if asks else "",
        }
        return self.render_page(request, "admin/loyalty/adjust.html", context)

    def adjusted(self, request: HttpRequest, member: UserPoints, form: AdjustmentForm) -> bool:
        """Whether the adjustment was made. If not, the form has the error."""
        cleaned = form.cleaned_data
        try:
            made = adjustments.adjust(
                account=member,
                points=form.points,
                key=cleaned["key"],
                audit_context=audit_context(request, cleaned["reason"]),
            )
        except PointsAlreadyClaimed:
            self.message_user(
                request,
                _("This page's adjustment has already been made. To make another, open the page again."),
                messages.WARNING,
            )
            return True
        except DomainError as error:
            form.add_error(error.details.get("field"), error.message)
            return False
        message = _("Adjusted by %(points)s. The balance is now %(balance)s.")
        text = message % {"points": format_points(made.points), "balance": format_number(made.new_balance)}
        if made.level_updated:
            text = f"{text} {_('The level is now %(level)s.') % {'level': made.current_level}}"
        self.message_user(request, text, messages.SUCCESS)
        return True
