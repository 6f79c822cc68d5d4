"""Who must have a second factor: everybody, where the operator says so, or a brand's staff, where its owner does."""

from django.conf import settings

from brands.models.people import User
from brands.staff_login.models import SignInSettings


def requires_second_factor(user: User, *, brand_id: int | None = None) -> bool:
    """Whether `user` may log in with a second factor only; `brand_id`: for a login that reaches this brand alone.

    A superuser works for every brand, so what one of them demands holds for them too.
    """
    if settings.STAFF_SECOND_FACTOR_REQUIRED:
        return True
    demanding = SignInSettings.objects.filter(second_factor_required=True)
    if brand_id is not None:
        demanding = demanding.filter(brand=brand_id)
    elif not user.is_superuser:
        demanding = demanding.filter(brand__staff_roles__user=user)
    return demanding.exists()
