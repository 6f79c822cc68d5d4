"""The maximum number of segments of a brand, because each is evaluated repeatedly."""

from django.utils.translation import gettext as _

from campaigns.earning import segment_references
from core.errors import Invalid
from loyalty.models.programme.segments import Segment

MAX_SEGMENTS = 100


def check(brand_id: int) -> None:
    """Raises Invalid if the brand has no room for another segment. Joins a transaction; others wait until it ends."""
    segment_references.lock_references(brand_id)
    if Segment.objects.filter(brand=brand_id).count() >= MAX_SEGMENTS:
        message = _("A brand has at most %(most)d segments. Delete one that nothing uses.")
        raise Invalid(message % {"most": MAX_SEGMENTS})
