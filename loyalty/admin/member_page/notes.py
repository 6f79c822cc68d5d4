"""Staff notes on a member. Anyone who may view the member reads and writes them; only the author deletes one."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import VIEW
from brands.models.people import User
from core.numbers import is_id
from loyalty.models.accounts import UserPoints
from loyalty.models.members.member_notes import MAX_LENGTH, MemberNote
from loyalty.points import accounts
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.undo import offers
from portal.unfold import TextareaWidget

MAX_DISPLAYED = 50


class NoteForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("New note"),
        max_length=MAX_LENGTH,
        widget=TextareaWidget(attrs={"rows": 3}),
        help_text=gettext_lazy("For colleagues who may see this member. The member does not see it."),
    )


class Notes(TenantAdmin):
    """Notes, as part of the model admin of members."""

    def own_views(self) -> dict[str, Any]:
        return {"note": ("<id:pk>/note/", self.note_view), **super().own_views()}

    def note_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Create a note, or delete one's own. An invalid note is shown again with its errors."""
        member: UserPoints = self.get_object(request, str(pk))
        if not self.may(request, VIEW, member):
            raise PermissionDenied
        if request.method == "POST" and "delete" in request.POST:
            self.delete_note(request, member, request.POST["delete"])
            return redirect("admin:loyalty_userpoints_change", member.pk)
        form = NoteForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            if write(member, author=staff_user(request), text=form.cleaned_data["text"]):
                self.message_user(request, _("The note is saved."), messages.SUCCESS)
            else:
                self.message_user(
                    request, _("The note is not saved, because the member's data was erased."), messages.ERROR
                )
            return redirect("admin:loyalty_userpoints_change", member.pk)
        context = {
            "original": member,
            "title": _("Write a note"),
            "row": member,
            "form": form,
            "button": _("Save note"),
            "cancel": _("Cancel"),
        }
        return self.render_page(request, "admin/portal/confirm.html", context)

    def delete_note(self, request: HttpRequest, member: UserPoints, number: str) -> None:
        own = MemberNote.objects.filter(account__in=member.ledger_accounts, author=staff_user(request))
        note = own.filter(pk=number).first() if is_id(number) else None
        if note is None or not own.filter(pk=note.pk).delete()[0]:
            self.message_user(request, _("Only the author of a note can delete it."), messages.ERROR)
            return
        was = {"account": note.account_id, "text": note.text, "created_at": note.created_at.isoformat()}
        offers.report_with_undo(
            request,
            _("The note is deleted."),
            "member-note",
            brand_id=member.brand_id,
            arguments=was,
            customer_id=member.user_id,
        )


def write(member: UserPoints, *, author: User, text: str, at: datetime | None = None) -> bool:
    """Returns False if the account is no longer this person's. The lock orders this before or after an erasure."""
    with transaction.atomic():
        accounts.lock(account=member.pk)
        if not UserPoints.objects.filter(pk=member.pk, user=member.user_id, user__is_active=True).exists():
            return False
        MemberNote.objects.create(
            brand_id=member.brand_id, account=member, author=author, text=text, created_at=at or timezone.now()
        )
    return True


def notes_of(member: UserPoints) -> "QuerySet[MemberNote]":
    """Newest first, including notes on accounts that were merged into this one."""
    rows = MemberNote.objects.filter(account__in=member.ledger_accounts).select_related("author")
    return rows.order_by("-pk")[:MAX_DISPLAYED]
