"""Exemptions from the limits on guessing codes. They are checked only once a limit is reached."""

from django.utils import timezone

from authcodes.codes import signed_tags
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from brands.identity.guessing import Exemptions
from brands.scanned import ParsedCode
from loyalty.points import accounts


def exemptions(*, reading: ParsedCode | None, user_id: int | None, brand_id: int | None) -> Exemptions:
    """The exemptions of a customer (None: a guest) who tries the code in `reading` in a brand's app (None: no app)."""

    def has_earned() -> bool:
        if user_id is None or brand_id is None:
            return False
        accepted = Scan.objects.filter(user_id=user_id, brand_id=brand_id, outcome=Scan.Outcome.SUCCESS)
        return accepted.exists()

    def is_established() -> bool:
        if user_id is None or brand_id is None:
            return False
        return accounts.is_established(user_id=user_id, brand_id=brand_id, at=timezone.now())

    return Exemptions(lambda: has_good_tag(reading), has_earned, is_established)


def has_good_tag(reading: ParsedCode | None) -> bool:
    """Whether it is a signed code with its tag, which cannot be guessed."""
    if reading is None or not reading.tag:
        return False
    code = AuthCode.objects.select_related("batch").filter(code=reading.code, batch__tag_version__isnull=False).first()
    return code is not None and signed_tags.fits(
        candidate=reading.tag, code=code.code, batch_id=code.batch_id, version=code.batch.tag_version
    )
