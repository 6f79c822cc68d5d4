"""Calling a batch back, and taking that back."""

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


def test_a_batch_is_recalled_once(brand):
    batch = factories.batch(brand)
    recall_fields = {"recall_id": "R-1", "contact": "x", "message": "y", "reason": "z", "at": timezone.now()}
    recalls.recall_batch(batch=batch, **recall_fields)

    with pytest.raises(BatchRejected, match="already recalled"):
        recalls.recall_batch(batch=batch, **recall_fields)


def test_recall_and_its_lifting_are_noted(brand):
    batch, owner = factories.batch(brand), staff(brand)
    texts = {"recall_id": "R-1", "contact": "x", "message": "y", "reason": "glass"}
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), by=owner, **texts)
    recalls.withdraw_recall(recall=recall, reason="no glass", at=timezone.now(), by=owner)

    lines = batch.changes.exclude(kind="generated").order_by("id")
    assert [(line.kind, line.reason, line.detail, line.changed_by) for line in lines] == [
        ("recalled", "glass", "R-1", owner),
        ("recall_withdrawn", "no glass", "R-1", owner),
    ]


# --- What is said of a scan that came before the recall


@pytest.fixture
def scanned(brand):
    """A guest's scan: its code, and its state as the API tells it."""
    code = factories.batch(brand, prefix="TEA-", quantity=9, scan_limit=None).codes.get(code="TEA-0005")
    client = Client()
    answer = client.post("/api/v1/auth-codes/scan", {"code": code.code}, "application/json").json()
    return code, lambda **headers: client.get(f"/api/v1/scans/{answer['scan_id']}", headers=headers).json()


def recall_some(code, first, last):
    scope = scopes.of_range(batch=code.batch, first=first, last=last)
    texts = {"recall_id": "R-1", "contact": "x@example.com", "message": "Stop.", "reason": "Glass"}
    return recalls.recall(scope=scope, at=timezone.now(), translations={"de": {"message": "Halt."}}, **texts)


def test_the_state_of_an_earlier_scan_says_the_recall_of_its_code_and_no_other(brand, scanned):
    code, state = scanned
    assert "recall" not in state()

    made = recall_some(code, "6", "8")
    assert "recall" not in state()
    recalls.withdraw_recall(recall=made, reason="Safe", at=timezone.now(), by=staff(brand))
    made = recall_some(code, "4", "6")

    assert state()["recall"] == {"id": "R-1", "contact": "x@example.com", "message": "Stop."}
    assert state(**{"Accept-Language": "de"})["recall"]["message"] == "Halt."
    assert state()["status"] == "success"
    recalls.withdraw_recall(recall=made, reason="Safe", at=timezone.now(), by=staff(brand))
    assert "recall" not in state()


def test_of_a_scan_that_found_no_genuine_code_no_recall_is_said(brand, scanned):
    code, state = scanned
    recall_some(code, "4", "6")
    Scan.objects.update(outcome="error", reason="bad_tag")

    assert "recall" not in state()


def test_the_state_of_a_scan_takes_as_many_statements_with_its_recall(brand, scanned):
    code, state = scanned
    with CaptureQueriesContext(connection) as before:
        state(**{"Accept-Language": "en"})
    recall_some(code, "4", "6")
    with CaptureQueriesContext(connection) as after:
        state(**{"Accept-Language": "en"})

    assert len(after) == len(before)
