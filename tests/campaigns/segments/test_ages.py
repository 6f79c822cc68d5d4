"""Texts for how long ago a segment was evaluated."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.segments.ages import age_text


@pytest.mark.parametrize(
    ("ago", "expected_text"),
    [
        (timedelta(seconds=-5), "less than a minute ago"),
        (timedelta(seconds=59), "less than a minute ago"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=12), "12 days ago"),
    ],
)
def test_age_uses_the_largest_fitting_unit(ago, expected_text):
    now = timezone.now()

    assert age_text(now - ago, at=now) == expected_text
