"""The menu of saved lists, above each list."""

from typing import Any

from django import template
from django.http import QueryDict
from django.urls import reverse

from brands.identity.roles import ADD, VIEW, brand_scope
from portal.saved_lists import rows

register = template.Library()
MAX_OFFERED = 50  # more are found on the page of saved lists


@register.inclusion_tag("admin/portal/saved_lists_menu.html", takes_context=True)
def saved_lists_menu(context: Any, cl: Any) -> dict[str, Any]:
    """Own and shared saved lists of this list; empty for users who may not see any."""
    user, label = context["request"].user, cl.opts.label_lower
    if context.get("is_popup") or not brand_scope(user, VIEW, rows.LABEL):
        return {}
    matches = list(rows.visible_to(user, label=label)[:MAX_OFFERED])
    address = QueryDict(mutable=True)
    address.update({"list": label, "address": context["request"].GET.urlencode()})
    new = reverse("admin:brands_savedlist_add") + f"?{address.urlencode()}"
    return {
        "is_offered": True,
        "own": [each for each in matches if each.owner_id == user.pk],
        "shared": [each for each in matches if each.owner_id != user.pk],
        "all_address": reverse("admin:brands_savedlist_changelist"),
        "new_address": new if brand_scope(user, ADD, rows.LABEL) else "",
    }
