"""Tickets: a preview issues one, with which the same user can confirm its file, once, before it expires."""

from dataclasses import dataclass
from datetime import datetime

from django.core import signing
from django.utils.translation import gettext as _

from brands.identity.roles import BrandScope
from brands.models.people import User
from core.errors import Invalid
from jobs.models import StagedUpload
from jobs.staged_uploads import LARGE_LIFETIME, UploadGone

SALT = "portal.import_export.tickets"
MAX_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class Ticket:
    """The upload, and the digest of the plan that the user has seen; empty before they have seen one."""

    upload: StagedUpload
    plan: str


def sign(upload: StagedUpload, *, plan: str = "") -> str:
    return signing.dumps([*_bound(upload), plan], salt=SALT)


def _bound(upload: StagedUpload) -> list[object]:
    return [upload.pk, upload.user_id, upload.brand_id, upload.resource, upload.sha256]


def read(text: str, *, by: User, resource: str, within: BrandScope, at: datetime, lock: bool = False) -> Ticket:
    """The ticket, if it belongs to this user, these pages and a brand `within`. With `lock`, no other request can use
    it.

    Raises Invalid: another user's or brand's ticket gives the same error as an invented one.
    """
    invalid = Invalid(_("This preview is not valid. Upload the file again."))
    try:
        pk, *bound, plan = signing.loads(text[:MAX_LENGTH], salt=SALT, max_age=LARGE_LIFETIME)
    except signing.SignatureExpired as error:
        raise UploadGone(_("This preview has expired. Upload the file again.")) from error
    except (signing.BadSignature, ValueError) as error:
        raise invalid from error
    user_id, brand_id, of, sha256 = bound
    if user_id != by.pk or of != resource or brand_id not in within:
        raise invalid
    rows = StagedUpload.objects.filter(pk=pk, user=by, brand=brand_id, resource=resource, sha256=sha256)
    rows = rows.select_for_update(of=("self",)) if lock else rows
    upload = rows.select_related("brand", "user").first()
    if upload is None or upload.status == StagedUpload.Status.IMPORTED:
        raise UploadGone(_("This preview has already been used or replaced. Upload the file again."))
    if upload.expires_at <= at:
        raise UploadGone(_("This preview has expired. Upload the file again."))
    return Ticket(upload, plan)
