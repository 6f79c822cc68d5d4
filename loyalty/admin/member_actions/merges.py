"""Pages: merge two accounts of one person, and undo a merge."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import ACT
from core.numbers import format_number, is_id
from loyalty.members import numbers
from loyalty.merges import merge, undo
from loyalty.merges.eligibility import merge_error
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import AccountMerge
from portal.base.audit_mixin import audit_context
from portal.base.confirmation import ConfirmedAction, ReasonForm, UnnamedReasonForm
from portal.base.tenant_admin import TenantAdmin
from portal.lists.number_columns import format_points
from portal.unfold import TextWidget, action


class LookUpForm(forms.Form):
    """Finds the other account by any of the numbers or addresses by which staff know a member."""

    other = forms.CharField(
        label=gettext_lazy("The other account"),
        max_length=254,
        widget=TextWidget(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("E-mail address, user id, external id, or the barcode of a wallet pass."),
    )


class MergeForm(UnnamedReasonForm):
    """Asks for the reason. `key` is new with each page, so a form submitted twice merges once."""

    key = forms.UUIDField(widget=forms.HiddenInput)


@dataclass(frozen=True, slots=True)
class MergeLine:
    """A merge as the pages of both members display it. `undo_until` is None once it can no longer be undone."""

    text: str
    address: str
    undo_address: str
    undo_until: datetime | None


def page_of(member: UserPoints, page: str = "change") -> str:
    return reverse(f"admin:loyalty_userpoints_{page}", args=[member.pk])


class Merging(TenantAdmin):
    """Merges, as part of the model admin of members."""

    def has_merge_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_with_status(request, object_id, UserPoints.Status.ACTIVE)

    def has_undo_merge_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        if not self.may_with_status(request, object_id, UserPoints.Status.MERGED):
            return False
        made = undo.current_merge(source=self.get_object(request, str(object_id)))
        return made is not None and undo.undo_until(made, timezone.now()) is not None

    def may_with_status(self, request: HttpRequest, object_id: Any, status: UserPoints.Status) -> bool:
        """Whether the user may act on the member, who has this status."""
        row = self.addressed_row(request, object_id)
        return row is not None and row.user.is_active and row.status == status and self.may(request, ACT, row)

    def merges_of(self, request: HttpRequest, member: UserPoints) -> list[MergeLine]:
        """The merges into this account; for a merged account, its merge into another one."""
        rows = AccountMerge.objects.filter(undone_at=None).select_related("target__user", "source__user")
        here = rows.filter(source=member) if member.status == UserPoints.Status.MERGED else rows.filter(target=member)
        return [self.line_of(request, made, member) for made in here.order_by("-pk")]

    def line_of(self, request: HttpRequest, made: AccountMerge, member: UserPoints) -> MergeLine:
        is_target = made.target_id == member.pk
        other = made.source if is_target else made.target
        text = _("The account of %(member)s was merged into this one.") if is_target else _("Merged into %(member)s.")
        may = self.may(request, ACT, member)
        until = undo.undo_until(made, timezone.now()) if may else None
        return MergeLine(
            text % {"member": other.display_name}, page_of(other), page_of(made.source, "undo_merge"), until
        )

    @action(description=gettext_lazy("Merge with…"), url_path="merge", icon="merge", permissions=["merge"])
    def merge(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The first page asks for the other account; the second shows both accounts and asks for a reason."""
        target: UserPoints = self.get_object(request, object_id)
        if not self.may(request, ACT, target):
            raise PermissionDenied
        form = LookUpForm(request.GET if "other" in request.GET else None)
        source = None
        if form.is_bound and form.is_valid():
            source = self.other_account(request, target, form.cleaned_data["other"])
            if source is None:
                form.add_error("other", _("This brand has no such member. Check what you entered."))
            elif request.method == "GET" and (why := merge_error(target, source)):  # for POST, `merge` checks it
                form.add_error("other", why)
        if source is None or not form.is_valid():
            return self.ask_for_other(request, target, form)
        return self.ask_why(request, target, source)

    def other_account(self, request: HttpRequest, target: UserPoints, text: str) -> UserPoints | None:
        """Find a member of the same brand by the typed e-mail address, barcode number, user id or external id."""
        text = text.strip()
        rows: QuerySet[UserPoints] = self.get_queryset(request).filter(brand=target.brand_id)
        rows = rows.select_related("user", "brand")
        if "@" in text:
            return rows.filter(user__email=text.lower()).first()
        by_barcode = rows.filter(pk=numbers.read(text) or 0).first()
        by_id = rows.filter(user=int(text)).first() if is_id(text) else None
        return by_barcode or by_id or rows.filter(external_id=text).exclude(external_id="").first()

    def ask_for_other(self, request: HttpRequest, target: UserPoints, form: LookUpForm) -> HttpResponse:
        context = {
            "original": target,  # for the breadcrumb
            "title": _("Merge an account into %(member)s") % {"member": target.display_name},
            "form": form,
            "back": page_of(target),
        }
        return self.render_page(request, "admin/loyalty/merge_look_up.html", context)

    def ask_why(self, request: HttpRequest, target: UserPoints, source: UserPoints) -> HttpResponse:
        seen = merge.preview(target=target, source=source)
        swapped = f"{page_of(source, 'merge')}?{urlencode({'other': target.user_id})}"
        accounts = [(_("Kept"), target), (_("Ends"), source)]
        action = ConfirmedAction(
            title=_("Merge an account into %(member)s") % {"member": target.display_name},
            form=partial(MergeForm, initial={"key": uuid4()}),
            button=_("Yes, merge accounts"),
            dangerous=True,
            template="admin/loyalty/merge.html",
            context={
                "accounts": [
                    (title, account, account.display_name, figures_of(account)) for title, account in accounts
                ],
                "result": [
                    (_("Balance"), format_number(seen.balance)),
                    (_("Lifetime points"), format_number(seen.lifetime)),
                    (_("Level"), seen.level or "-"),
                    (_("Pending"), format_number(seen.pending)),
                    (_("Owed"), format_number(seen.owed)),
                ],
                "settled": format_points(seen.settled) if seen.settled else "",
                "redemptions": seen.redemptions,
                "other_lines": seen.other_lines,
                "swapped": swapped,
            },
        )
        return action.respond(self, request, target, partial(self.merged, request, target, source))

    def merged(
        self, request: HttpRequest, target: UserPoints, source: UserPoints, answers: dict[str, Any]
    ) -> HttpResponse:
        made = merge.merge(
            target=target, source=source, key=answers["key"], audit_context=audit_context(request, answers["reason"])
        )
        text = _("Merged: %(points)s moved to this account. The balance is now %(balance)s.")
        target.refresh_from_db()
        places = {"points": format_points(made.points), "balance": format_number(target.points)}
        self.message_user(request, text % places, messages.SUCCESS)
        return redirect(page_of(target))

    @action(description=gettext_lazy("Undo the merge"), url_path="undo-merge", icon="undo", permissions=["undo_merge"])
    def undo_merge(self, request: HttpRequest, object_id: str) -> HttpResponse:
        source: UserPoints = self.get_object(request, object_id)
        made = undo.current_merge(source=source)
        if made is None or not self.may(request, ACT, source):
            raise PermissionDenied
        action = ConfirmedAction(
            title=_("Undo the merge of %(member)s") % {"member": source.display_name},
            paragraphs=[
                _("Both accounts get back what they had. Anything added since then stays with %(member)s.")
                % {"member": made.target.display_name}
            ],
            consequences=[_("Goes back: %(points)s") % {"points": format_points(made.points)}],
            form=ReasonForm,
            button=_("Undo the merge"),
        )
        return action.respond(self, request, source, partial(self.undone, request, made))

    def undone(self, request: HttpRequest, made: AccountMerge, answers: dict[str, Any]) -> None:
        undo.undo(made=made, audit_context=audit_context(request, answers["reason"]))
        self.message_user(request, _("The merge was undone. Both accounts are active again."), messages.SUCCESS)


def figures_of(account: UserPoints) -> list[tuple[str, str]]:
    return [
        (_("Balance"), format_number(account.points)),
        (_("Lifetime points"), format_number(account.lifetime)),
        (_("Level"), account.current_level or "-"),
        (_("Pending"), format_number(account.points_pending)),
        (_("Owed"), format_number(account.points_owed)),
    ]
