"""Who needs a second factor: all staff if the operator requires it, or a brand's staff if its owner does."""

from django.conf import settings

from brands.models.people import User
from brands.staff_login.models import SignInSettings


def requires_second_factor(user: User, *, brand_id: int | None = None) -> bool:
    """Whether `user` may only log in with a second factor. `brand_id`: for a login to this brand only.

    A superuser works for every brand, so the requirement of any brand applies to them.
    """
    if settings.STAFF_SECOND_FACTOR_REQUIRED:
        return True
    demanding = SignInSettings.objects.filter(second_factor_required=True)
    if brand_id is not None:
        demanding = demanding.filter(brand=brand_id)
    elif not user.is_superuser:
        demanding = demanding.filter(brand__staff_roles__user=user)
    return demanding.exists()
