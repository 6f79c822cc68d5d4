"""A milestone that gives a mug of the brand's catalogue."""

import pytest

from tests.support import factories


@pytest.fixture
def mug(brand):
    return factories.reward(
        brand,
        name="Enamel mug",
        cost=None,
        description="With a mountain.",
        stock=2,
        translations={"de": {"name": "Becher", "description": "Mit Berg."}},
    )


@pytest.fixture
def milestone(brand, mug):
    return factories.milestone(factories.campaign(brand, target_value=1), 1, reward=mug, reward_name="typed")
