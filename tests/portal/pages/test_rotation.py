"""Keys and signing secrets are rotated alike: for how long the one before stays valid is asked, and why."""

import pytest

from loyalty.admin.signing_secrets import RotateSecretForm
from portal.mixins.secret_page import RotateForm
from portal.pages.api_keys import RotateKeyForm


@pytest.mark.parametrize(
    ("form", "hours"), [(RotateKeyForm, [24, 1, 168, 720, 0]), (RotateSecretForm, [24, 1, 168, 0])]
)
def test_a_day_is_offered_first_and_an_end_at_once_last(form: type[RotateForm], hours: list[int]) -> None:
    asked = form()

    assert list(asked.fields) == ["hours", "reason"]
    assert [value for value, _label in asked.fields["hours"].choices] == hours


@pytest.mark.parametrize("form", [RotateKeyForm, RotateSecretForm])
def test_hours_are_a_number_of_those_that_are_offered(form: type[RotateForm]) -> None:
    chosen = form({"hours": "1", "reason": "Yearly"})

    assert chosen.is_valid()
    assert chosen.cleaned_data == {"hours": 1, "reason": "Yearly"}
    assert list(form({"hours": "2", "reason": "Yearly"}).errors) == ["hours"]
