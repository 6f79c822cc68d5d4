"""Which saved lists a user may open, change and delete."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet

from brands.identity.roles import DELETE, STOP, VIEW, BrandScope, brand_scope
from brands.models.people import User
from brands.models.saved_lists import SavedList

LABEL = "brands.savedlist"


def visible_to(user: Any, *, label: str = "") -> "QuerySet[SavedList]":
    """The user's own and their brands' shared ones, for lists that they may see (only of `label` if it is given)."""
    within = brand_scope(user, VIEW, LABEL)
    rows = within.of(SavedList.objects.filter(Q(owner=user.pk) | Q(is_shared=True)), "brand")
    scopes = {brand_scope(user, VIEW, label): [label]} if label else labels_by_scope(user)
    seen = Q(pk__in=())
    for scope, labels in scopes.items():
        brands = Q() if scope.everywhere else Q(brand__in=scope.brand_ids)
        seen |= Q(model_label__in=labels) & brands
    return rows.filter(seen)


def labels_by_scope(user: Any) -> dict[BrandScope, list[str]]:
    """The lists that `user` may see, by their brand scope."""
    result: dict[BrandScope, list[str]] = {}
    for model in admin.site._registry:  # noqa: SLF001 - there is no other list of all pages
        label = model._meta.label_lower
        if scope := brand_scope(user, VIEW, label):
            result.setdefault(scope, []).append(label)
    return result


def may_delete(user: User, saved: SavedList) -> bool:
    """Users may delete what they saved; a brand's owners may also delete what is shared with it."""
    if saved.owner_id == user.pk:
        return saved.brand_id in brand_scope(user, DELETE, LABEL)
    return saved.is_shared and saved.brand_id in brand_scope(user, STOP, LABEL)
