"""Calling a batch back, and taking that back."""

import pytest
from django.utils import timezone

from authcodes.errors import BatchRejected
from authcodes.recalls import recalls
from tests.support import factories
from tests.support.portal import staff


def test_a_batch_is_recalled_once(brand):
    batch = factories.batch(brand)
    told = {"recall_id": "R-1", "contact": "x", "message": "y", "reason": "z", "at": timezone.now()}
    recalls.recall_batch(batch=batch, **told)

    with pytest.raises(BatchRejected, match="already recalled"):
        recalls.recall_batch(batch=batch, **told)


def test_recall_and_its_lifting_are_noted(brand):
    batch, owner = factories.batch(brand), staff(brand)
    words = {"recall_id": "R-1", "contact": "x", "message": "y", "reason": "glass"}
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), by=owner, **words)
    recalls.withdraw_recall(recall=recall, reason="no glass", at=timezone.now(), by=owner)

    lines = batch.changes.exclude(kind="generated").order_by("id")
    assert [(line.kind, line.reason, line.detail, line.changed_by) for line in lines] == [
        ("recalled", "glass", "R-1", owner),
        ("recall_withdrawn", "no glass", "R-1", owner),
    ]
