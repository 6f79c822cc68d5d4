"""Filter of the list of members by level."""

from collections.abc import Sequence

from django.db.models import Q
from django.utils.translation import gettext_lazy

from brands.models.tenants import Brand
from portal.lists.filters import TextFilter


class LevelFilter(TextFilter):
    """By the name of a level. A hyphen finds members without a level."""

    title = gettext_lazy("level")
    parameter_name = "level"

    def condition(self, value: str, brands: Sequence[Brand]) -> Q:  # noqa: ARG002 - its base's signature
        return Q(current_level="" if value == "-" else value)
