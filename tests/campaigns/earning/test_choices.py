"""The values that the form of conditions offers."""

import pytest

from campaigns.earning import choices
from tests.support import factories

pytestmark = pytest.mark.django_db


def test_each_tag_is_found_however_many_there_are(brand, monkeypatch):
    monkeypatch.setattr(choices, "MAX_CHOICES", 1)
    tags = [f"Tag {number:02}" for number in range(30)]
    for tag in tags:
        factories.product(brand, tags=[tag, "new"])

    assert [choices.options(brand, "tags", tag.upper()) for tag in tags] == [[(tag, tag)] for tag in tags]


def test_only_the_brands_own_tags_are_offered(brand):
    factories.product(brand, tags=["new"])
    factories.product(factories.brand(), tags=["newer"])

    assert choices.options(brand, "tags", "new") == [("new", "new")]
