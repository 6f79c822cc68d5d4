"""The page that has a customer's data exported: staff say why, and get the job."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from authcodes import data_exports
from brands.identity import users
from core.errors import DomainError
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from portal.base.reason_forms import UnnamedReasonForm
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import within


def view(page: TenantAdmin, request: HttpRequest, member: UserPoints) -> HttpResponse:
    """The page that says what the file will hold; posted, it starts the job."""
    if member.brand_id not in within(request.user, page.opts.label_lower):
        raise PermissionDenied
    form = UnnamedReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            job = start(page, request, member, form.cleaned_data["reason"])
        except DomainError as refusal:
            form.add_error(None, refusal.message)
        else:
            return redirect("admin:jobs_job_change", job.pk)
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": _("Export the data of %(member)s") % {"member": member},
        "original": member,
        "member": member,
        "form": form,
    }
    return TemplateResponse(request, "admin/authcodes/data_export.html", context)


def start(page: Any, request: HttpRequest, member: UserPoints, reason: str) -> Job:
    """Start the job and write it into the member's history, both or neither. Raises DomainError."""
    with transaction.atomic():
        customer = users.lock_user(user_id=member.user_id)
        if not UserPoints.objects.filter(pk=member.pk, user=customer).exists():  # erased while this waited
            raise Http404
        job = data_exports.start(brand=member.brand, customer=customer, by=staff_user(request), at=timezone.now())
        page.note(request, [member], _("Data exported"), reason=reason)
    return job
