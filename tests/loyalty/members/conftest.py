"""A brand with levels whose members come by file, and its owner."""

import pytest

from tests.support import factories
from tests.support.portal import staff


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def brand(db):
    made = factories.brand(auto_enroll=False)
    factories.level(made, "Bronze", 0)
    factories.level(made, "Silver", 100)
    return made


@pytest.fixture
def owner(brand):
    return staff(brand)
