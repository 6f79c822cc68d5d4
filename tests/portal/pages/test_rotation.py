"""The forms that rotate API keys and signing secrets: the hours for which the old one stays valid, and the reason."""

import pytest

from loyalty.admin.signing_secrets import RotateSecretForm
from portal.mixins.secret_page import RotateForm
from portal.pages.api_keys import RotateKeyForm


@pytest.mark.parametrize(
    ("form_class", "hours"), [(RotateKeyForm, [24, 1, 168, 720, 0]), (RotateSecretForm, [24, 1, 168, 0])]
)
def test_choices_start_with_a_day_and_end_with_immediately(form_class: type[RotateForm], hours: list[int]) -> None:
    empty_form = form_class()

    assert list(empty_form.fields) == ["hours", "reason"]
    assert [value for value, _label in empty_form.fields["hours"].choices] == hours


@pytest.mark.parametrize("form_class", [RotateKeyForm, RotateSecretForm])
def test_hours_must_be_one_of_the_choices(form_class: type[RotateForm]) -> None:
    valid_form = form_class({"hours": "1", "reason": "Yearly"})

    assert valid_form.is_valid()
    assert valid_form.cleaned_data == {"hours": 1, "reason": "Yearly"}
    assert list(form_class({"hours": "2", "reason": "Yearly"}).errors) == ["hours"]
