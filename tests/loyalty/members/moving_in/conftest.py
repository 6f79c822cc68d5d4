"""A brand with levels that imports its members from files."""

import pytest

from tests.support import factories


@pytest.fixture(autouse=True)
def separate_media_folder(media):
    """Stores uploaded files in a folder of the test."""


@pytest.fixture
def brand(db):
    new_brand = factories.brand(auto_enroll=False)
    factories.level(new_brand, "Bronze", 0)
    factories.level(new_brand, "Silver", 100)
    return new_brand
