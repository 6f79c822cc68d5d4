"""The page that starts an export of a customer's data: staff enter a reason and get the job."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from authcodes import data_exports
from brands.identity import users
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from portal.base.confirmation import ConfirmedAction, UnnamedReasonForm
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import within


def view(page: TenantAdmin, request: HttpRequest, member: UserPoints) -> HttpResponse:
    """Describe what the file will contain; on POST, start the job."""
    if member.brand_id not in within(request.user, page.opts.label_lower):
        raise PermissionDenied
    contents = _(
        "A job exports all data that %(brand)s stores about this customer: the account, points, rewards, campaigns, "
        "scans with their locations, notifications, devices and wallet passes. The file contains no data of other "
        "brands."
    )
    action = ConfirmedAction(
        title=_("Export the data of %(member)s") % {"member": member},
        paragraphs=[
            contents % {"brand": member.brand},
            _(
                "The file is available on the job's page until it expires. "
                "The customer can also download it in the app."
            ),
        ],
        form=UnnamedReasonForm,
        button=_("Export the data"),
    )

    def started(answers: dict[str, Any]) -> HttpResponse:
        return redirect("admin:jobs_job_change", start(page, request, member, answers["reason"]).pk)

    return action.respond(page, request, member, started)


def start(page: Any, request: HttpRequest, member: UserPoints, reason: str) -> Job:
    """Start the job and note it in the member's history. Raises DomainError."""
    customer = users.lock_user(user_id=member.user_id)
    if not UserPoints.objects.filter(pk=member.pk, user=customer).exists():  # erased while waiting for the lock
        raise Http404
    job = data_exports.start(brand=member.brand, customer=customer, by=staff_user(request), at=timezone.now())
    page.record_action(request, [member], gettext_noop("Data exported"), reason=reason)
    return job
