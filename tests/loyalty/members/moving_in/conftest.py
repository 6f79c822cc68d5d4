"""A brand with levels whose members come by file, and its owner."""

import pytest

from tests.support import factories


@pytest.fixture(autouse=True)
def files_of_its_own(media):
    """What is uploaded."""


@pytest.fixture
def brand(db):
    made = factories.brand(auto_enroll=False)
    factories.level(made, "Bronze", 0)
    factories.level(made, "Silver", 100)
    return made
