"""The form of a segment: the rows of the rule builder, with the fields of members."""

from typing import Any

from django.utils.translation import gettext as _

from campaigns.admin.rules.rule_form import RowsField, described, vocabulary_of
from campaigns.earning.conditions import ConditionsError
from campaigns.segments import limit, member_conditions, sentences
from campaigns.segments.fields import MEMBER_FIELDS
from core.errors import Invalid
from loyalty.models.programme.segments import Segment
from portal.base.forms import TenantForm


def vocabulary() -> dict[str, Any]:
    result = vocabulary_of((), nothing=_("No conditions: every active member."))
    fields = [
        {**described(field), "labels": [(name, sentences.option_label(name)) for name, _label in field.labels]}
        for field in MEMBER_FIELDS.values()
    ]
    return {**result, "fields": fields}


class ConditionsForm(TenantForm):
    """Rejects conditions that cannot be evaluated."""

    conditions = RowsField(part="conditions", empty={}, offered=vocabulary)

    class Meta:
        model = Segment
        fields: Any = ("conditions",)

    def _post_clean(self) -> None:
        """Called when the form has filled in the segment, whose brand the conditions are read for."""
        super()._post_clean()  # type: ignore[misc] # missing in the stubs
        if self.instance.brand_id is None or "conditions" in self.errors:
            return
        try:
            member_conditions.read(self.instance.conditions, brand=self.instance.brand)
        except ConditionsError as error:
            self.add_error("conditions", str(error))


class SegmentForm(ConditionsForm):
    """Also rejects a new segment of a brand that has too many."""

    class Meta(ConditionsForm.Meta):
        fields = "__all__"

    def _post_clean(self) -> None:
        super()._post_clean()
        if self.instance.brand_id is None or self.instance.pk:
            return
        try:
            limit.check(self.instance.brand_id)
        except Invalid as error:
            self.add_domain_error(error)
