"""Recalling a batch and withdrawing the recall."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.errors import BatchRejected
from authcodes.models.scans import Scan
from authcodes.recalls import recalls, scopes
from tests.support import factories
from tests.support.portal import staff


def test_a_batch_cannot_be_recalled_twice(brand):
    batch = factories.batch(brand)
    recall_fields = {"recall_id": "R-1", "contact": "x", "message": "y", "reason": "z", "at": timezone.now()}
    recalls.recall_batch(batch=batch, **recall_fields)

    with pytest.raises(BatchRejected, match="already recalled"):
        recalls.recall_batch(batch=batch, **recall_fields)


def test_recall_and_withdrawal_are_recorded_in_the_history(brand):
    batch, owner = factories.batch(brand), staff(brand)
    texts = {"recall_id": "R-1", "contact": "x", "message": "y", "reason": "glass"}
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), by=owner, **texts)
    recalls.withdraw_recall(recall=recall, reason="no glass", at=timezone.now(), by=owner)

    changes = batch.changes.exclude(kind="generated").order_by("id")
    assert [(line.kind, line.reason, line.detail, line.changed_by) for line in changes] == [
        ("recalled", "glass", "R-1", owner),
        ("recall_withdrawn", "no glass", "R-1", owner),
    ]


# --- The state of scans that came before the recall


@pytest.fixture
def scanned_code(brand):
    """The code of a guest's scan, and a function that returns the scan's state from the API."""
    code = factories.batch(brand, prefix="TEA-", quantity=9, scan_limit=None).codes.get(code="TEA-0005")
    client = Client()
    answer = client.post("/api/v1/auth-codes/scan", {"code": code.code}, "application/json").json()
    return code, lambda **headers: client.get(f"/api/v1/scans/{answer['scan_id']}", headers=headers).json()


def recall_part(code, first, last):
    scope = scopes.of_range(batch=code.batch, first=first, last=last)
    texts = {"recall_id": "R-1", "contact": "x@example.com", "message": "Stop.", "reason": "Glass"}
    return recalls.recall(scope=scope, at=timezone.now(), translations={"de": {"message": "Halt."}}, **texts)


def test_state_of_an_earlier_scan_includes_only_a_recall_of_its_code(brand, scanned_code):
    code, scan_state = scanned_code
    assert "recall" not in scan_state()

    recall = recall_part(code, "6", "8")
    assert "recall" not in scan_state()
    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(brand))
    recall = recall_part(code, "4", "6")

    assert scan_state()["recall"] == {"id": "R-1", "contact": "x@example.com", "message": "Stop."}
    assert scan_state(**{"Accept-Language": "de"})["recall"]["message"] == "Halt."
    assert scan_state()["status"] == "success"
    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(brand))
    assert "recall" not in scan_state()


def test_state_of_a_scan_without_a_genuine_code_has_no_recall(brand, scanned_code):
    code, scan_state = scanned_code
    recall_part(code, "4", "6")
    Scan.objects.update(outcome="error", reason="bad_tag")

    assert "recall" not in scan_state()


def test_query_count_of_a_scan_state_does_not_grow_with_a_recall(brand, scanned_code):
    code, scan_state = scanned_code
    with CaptureQueriesContext(connection) as before:
        scan_state(**{"Accept-Language": "en"})
    recall_part(code, "4", "6")
    with CaptureQueriesContext(connection) as after:
        scan_state(**{"Accept-Language": "en"})

    assert len(after) == len(before)
