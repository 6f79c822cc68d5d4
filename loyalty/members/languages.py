"""The language of a customer: from their profile, else from their brand."""

from django.conf import settings
from django.db.models import OuterRef, Subquery

from brands.models.tenants import Brand
from core.db import row_guard
from loyalty.models.notifications import NotificationPreference


def language_of(brand_id: int, user_id: int | None) -> str:
    """Takes one statement. Named by settings.CUSTOMER_LANGUAGE."""
    preferences = NotificationPreference.objects.filter(brand=OuterRef("pk"), user__pk=user_id or 0)
    own = preferences.values("language")[:1]
    with row_guard.brand_wide("customers do not see their brand's settings, of which this is the language"):
        row = Brand.objects.filter(pk=brand_id).values_list(Subquery(own), "notice_settings__language").first()
    return next(filter(None, row or ()), settings.LANGUAGE_CODE)
