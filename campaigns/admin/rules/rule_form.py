"""The form of an earning rule: rows for conditions and limits, with a sentence that describes the rule."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.dates import WEEKDAYS
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.earning import checks, own_fields
from campaigns.earning.comparisons import OPERATORS
from campaigns.earning.fields import FIELDS, Field, Type
from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind
from portal.base.forms import TenantForm
from portal.unfold import SelectWidget

MAX_BYTES = 60_000
MAX_KINDS = 200  # of brands' own, in one form


def vocabulary(own: Sequence[EventKind] = ()) -> dict[str, Any]:
    """What the rows of the builder offer: fields by kind of action, operators by field, and labels.

    `own`: the kinds that brands registered, with their fields.
    """
    fields = [
        *(described(field) for field in FIELDS.values() if not field.own_too),
        *(described(field, [kind.name for kind in own]) for field in FIELDS.values() if field.own_too),
        *(
            {**described(own_fields.field_of(row, kind=kind.name)), "brand": kind.brand_id, "entry": row.type}
            for kind in own
            for row in kind.fields.all()
        ),
    ]
    return vocabulary_of(fields, own=own, nothing=_("No conditions: each time counts."))


def vocabulary_of(fields: Sequence[dict[str, Any]], *, nothing: str, own: Sequence[EventKind] = ()) -> dict[str, Any]:
    """The vocabulary for the given fields. `nothing`: the text for a form without conditions."""
    return {
        "fields": fields,
        "groups": {
            "all": _("all of these hold"),
            "any": _("any of these holds"),
            "none": _("none of these holds"),
        },
        "own": [kind.name for kind in own],
        "weekdays": [str(WEEKDAYS[number]) for number in range(7)],
        "limits": {
            "per": {"member": _("each member"), "rule": _("the rule in all")},
            "what": {"points": _("points"), "events": _("times"), "money": _("money")},
            "period": {
                "event": _("at a time"),
                "day": _("a day"),
                "week": _("a week"),
                "month": _("a month"),
                "ever": _("in all"),
            },
        },
        "labels": {
            "add": _("Add a condition"),
            "add_group": _("Add a group"),
            "add_limit": _("Add a limit"),
            "remove": _("Remove"),
            "field": _("Field"),
            "operator": _("Comparison"),
            "value": _("Value"),
            "several": _("Several values: separate them with commas."),
            "and": _("and"),
            "latitude": _("Latitude"),
            "longitude": _("Longitude"),
            "kilometres": _("Kilometres"),
            "count": _("How often"),
            "days": _("In the last days"),
            "most": _("At most"),
            "per": _("For"),
            "what": _("Of"),
            "period": _("Period"),
            "cost": _("What a point costs"),
            "group": _("Which conditions must hold"),
            "none": nothing,
            "no_limits": _("No limits."),
            "search": _("Type to search"),
            "unnamed": _("one that is gone"),
            "yes": _("yes"),
            "no": _("no"),
        },
    }


def described(field: Field, own: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "name": field.name,
        "label": str(field.label),
        "type": field.type.value,
        "kinds": sorted({*field.kinds, *own}) if field.kinds is not None else None,
        "options": field.options,
        "choices": field.choices,
        "operators": [
            {"name": each.name, "label": str(each.label), "shape": each.shape}
            for each in OPERATORS[field.type].values()
            if field.type is not Type.TEXTS or field.name in {"sku", "tags"} or each.name in {"in", "not_in", "starts"}
        ],
    }


class RowsWidget(forms.HiddenInput):
    """A hidden input with the rows as JSON; rule_builder.js displays them as rows.

    `offered`: the vocabulary, if the fields are not those of actions. `kinds`: maps values of the form's field
    `kind_field` to kinds of actions. `choices_at`: where values are looked up on pages without a test bench.
    """

    def __init__(
        self,
        part: str,
        *,
        offered: Callable[[], dict[str, Any]] | None = None,
        kinds: Mapping[str, str] | None = None,
        kind_field: str = "",
        choices_at: Any = "",
    ) -> None:
        super().__init__(attrs={"data-rule-part": part})
        self.part, self.offered, self.choices_at = part, offered, choices_at
        self.own: Sequence[EventKind] = ()
        self.more = {"data-kinds": json.dumps(kinds), "data-kind-field": kind_field} if kinds else {}

    @property
    def is_hidden(self) -> bool:
        """Shown, so that its label and errors are displayed like any other field's."""
        return False

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        more = {**self.more, "data-choices": str(self.choices_at)} if self.choices_at else self.more
        field = super().render(name, value, {**(attrs or {}), **more}, renderer)
        page_context: dict[str, Any] = {"field": field, "part": self.part, "vocabulary": None}
        if self.offered:
            page_context["vocabulary"] = self.offered()
        elif self.part == "conditions":
            page_context["vocabulary"] = vocabulary(self.own)
        return SafeString(render_to_string("admin/campaigns/rule_rows.html", page_context))


class RowsField(forms.JSONField):
    """The rows as data. Anything that is not rows is reported as a form error."""

    def __init__(self, *, part: str, empty: Any, **options: Any) -> None:
        label = gettext_lazy("Limits") if part == "limits" else gettext_lazy("Conditions")
        super().__init__(required=False, label=label, widget=RowsWidget(part, **options))
        self.empty = empty
        self.error_messages["invalid"] = gettext_lazy("The rows could not be read. Reload the page.")

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > MAX_BYTES:
            raise forms.ValidationError(_("These are too many conditions for one rule."))
        try:
            result = super().to_python(value)
            json.dumps(result, ensure_ascii=False).encode()  # no page and no column can hold half a surrogate pair
        except (ValueError, RecursionError):  # what rule_builder.js never sends
            raise forms.ValidationError(self.error_messages["invalid"]) from None
        return self.empty if result is None else result

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Rows that could not be read are shown again as they were sent."""
        return data

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else super().prepare_value(value)


class EarningRuleForm(TenantForm):
    """Rejects rules with problems that campaigns/earning/checks.py finds."""

    kind = forms.ChoiceField(label=gettext_lazy("When"), choices=EarningRule.Kind.choices, widget=SelectWidget)
    conditions = RowsField(part="conditions", empty={})
    limits = RowsField(part="limits", empty=[])

    class Meta:
        model = EarningRule
        fields = "__all__"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        own = self.own_kinds()
        if "kind" in self.fields:
            off = _("switched off")
            known = {kind.name: f"{kind} ({kind.name if kind.is_active else off})" for kind in own}
            field: Any = self.fields["kind"]
            field.choices = [*EarningRule.Kind.choices, *known.items()]
        if "conditions" in self.fields:
            self.fields["conditions"].widget.own = own

    def own_kinds(self) -> list[EventKind]:
        """The kinds of the rule's brand; for a new rule, of every brand that it could be for."""
        rows = EventKind.objects.prefetch_related("fields")
        brand: Any = self.fields.get("brand")
        if self.instance.brand_id or brand is None:
            return list(rows.filter(brand=self.instance.brand_id))
        return list(rows.filter(brand__in=brand.queryset)[:MAX_KINDS])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        kind = cleaned.get("kind")
        if kind and not cleaned.get("name") and "name" in self.fields:
            brand = cleaned.get("brand") or getattr(self.instance, "brand", None)
            cleaned["name"] = EarningRule(kind=kind, brand=brand).default_name()
        return cleaned

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc] # missing in the stubs
        if self.errors or self.instance.brand_id is None:
            return
        for name, text in checks.problems_of(self.instance).items():
            self.add_error(name if name in self.fields else None, text)
