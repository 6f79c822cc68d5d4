"""What a form that is asked for a reason holds, and where it says that something was refused."""

import pytest
from django import forms

from authcodes.admin.codes import bulk_forms
from core.errors import Invalid
from portal.base.confirmation import ReasonForm
from portal.base.forms import add_domain_error


@pytest.mark.parametrize(("form", "most"), [(ReasonForm, 500), (bulk_forms.ChangeReasonForm, 1000)])
def test_a_reason_is_as_long_as_the_table_has_room_for(form: type[forms.Form], most: int) -> None:
    assert form({"reason": "x" * most}).is_valid()
    assert list(form({"reason": "x" * (most + 1)}).errors) == ["reason"]


@pytest.mark.parametrize(
    ("details", "place"), [({"field": "reason"}, "reason"), ({"field": "elsewhere"}, "__all__"), ({}, "__all__")]
)
def test_a_refusal_is_said_at_its_field_or_above_the_form(details: dict[str, str], place: str) -> None:
    form = ReasonForm({"reason": "x"})

    add_domain_error(form, Invalid("No.", details=details))

    assert form.errors == {place: ["No."]}
