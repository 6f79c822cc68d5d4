"""The form of a segment: the rows of the rule builder, with the fields of members."""

from typing import Any

from django.utils.translation import gettext as _

from campaigns.admin.rules.rule_form import RowsField, described, vocabulary_of
from campaigns.earning.conditions import ConditionsError
from campaigns.segments import member_conditions, sentences
from campaigns.segments.fields import MEMBER_FIELDS
from loyalty.models.programme.segments import Segment
from portal.base.forms import TenantForm

MAX_SEGMENTS = 100  # of a brand: each is evaluated repeatedly


def vocabulary() -> dict[str, Any]:
    result = vocabulary_of((), nothing=_("No conditions: every active member."))
    fields = [
        {**described(field), "labels": [(name, sentences.option_label(name)) for name, _label in field.labels]}
        for field in MEMBER_FIELDS.values()
    ]
    return {**result, "fields": fields}


class SegmentForm(TenantForm):
    """Rejects conditions that cannot be evaluated, and more than MAX_SEGMENTS segments of a brand."""

    conditions = RowsField(part="conditions", empty={}, offered=vocabulary)

    class Meta:
        model = Segment
        fields = "__all__"

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc] # missing in the stubs
        if self.instance.brand_id is None or "conditions" in self.errors:
            return
        try:
            member_conditions.read(self.instance.conditions, brand=self.instance.brand)
        except ConditionsError as error:
            self.add_error("conditions", str(error))
        if not self.instance.pk and Segment.objects.filter(brand=self.instance.brand_id).count() >= MAX_SEGMENTS:
            message = _("A brand has at most %(most)d segments. Delete one that nothing uses.")
            self.add_error(None, message % {"most": MAX_SEGMENTS})
