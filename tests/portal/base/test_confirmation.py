"""Forms that ask for a reason: the reason's length, and where errors appear."""

import pytest
from django import forms

from authcodes.admin.codes import bulk_forms
from core.errors import Invalid
from portal.base.confirmation import ReasonForm
from portal.base.forms import add_domain_error


@pytest.mark.parametrize(("form", "max_length"), [(ReasonForm, 500), (bulk_forms.ChangeReasonForm, 1000)])
def test_reason_may_be_as_long_as_its_column_allows(form: type[forms.Form], max_length: int) -> None:
    assert form({"reason": "x" * max_length}).is_valid()
    assert list(form({"reason": "x" * (max_length + 1)}).errors) == ["reason"]


@pytest.mark.parametrize(
    ("details", "field"), [({"field": "reason"}, "reason"), ({"field": "elsewhere"}, "__all__"), ({}, "__all__")]
)
def test_domain_error_appears_at_its_field_or_above_the_form(details: dict[str, str], field: str) -> None:
    form = ReasonForm({"reason": "x"})

    add_domain_error(form, Invalid("No.", details=details))

    assert form.errors == {field: ["No."]}
