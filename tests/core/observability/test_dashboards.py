"""The Grafana dashboard and the alerts use only metrics and labels that /metrics exports."""

import json
import re
import shutil
import subprocess

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from core.observability import metrics
from tests.support.live_stack import ROOT

OPERATIONS = ROOT / "docs" / "operations"
RULES = OPERATIONS / "prometheus-alerts.yml"
TOKEN = "t" * 40
SELECTOR = re.compile(r"\b(loyalty_[a-z_]+)(\{[^}]*\})?")
GROUPED = re.compile(r"\b(?:by|without) \(([a-z, ]+)\)")
# Labels that Prometheus itself adds, and the label of histograms.
BUILT_IN_LABELS = {"instance", "job", "le"}


def rules():
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    return group["rules"]


def panels():
    return [
        panel
        for panel in json.loads((OPERATIONS / "grafana-dashboard.json").read_text())["panels"]
        if "targets" in panel
    ]


def expressions():
    yield from (rule["expr"] for rule in rules())
    yield from (target["expr"] for panel in panels() for target in panel["targets"])


@pytest.fixture
def exported_labels(db, settings):
    """{name of a sample: its labels}, of everything that a busy installation exports."""
    settings.METRICS_TOKEN = TOKEN
    metrics.answered(view="x", method="GET", status=200, seconds=1)
    metrics.scanned(outcome="success", reason="accepted")
    metrics.credited(kind="scan-auth", seconds=1)
    metrics.attempted(kind="scan-auth", result="done")
    metrics.swept("events")
    metrics.turned_away("pages", "busy")
    metrics.waited("pages", 0.1)
    metrics.taken_from_queue("accepted")
    metrics.limit_reached("plain_codes")
    text = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    families = list(text_string_to_metric_families(text))
    labels_by_sample = {sample.name: set(sample.labels) for family in families for sample in family.samples}
    # Without events and jobs these have no samples.
    empty = {
        "loyalty_events_pending": {"lane", "kind"},
        "loyalty_events_dead": {"kind"},
        "loyalty_jobs": {"kind", "status"},
    }
    assert set(empty) <= {family.name for family in families}
    return empty | labels_by_sample


def test_expressions_use_only_exported_metrics_and_labels(exported_labels):
    for expression in expressions():
        labels = set()
        for name, selected in SELECTOR.findall(expression):
            assert name in exported_labels, expression
            labels |= exported_labels[name]
            assert set(re.findall(r"(\w+)(?:=~|!~|!=|=)", selected)) <= exported_labels[name] | BUILT_IN_LABELS, (
                expression
            )
        for group in GROUPED.findall(expression):
            assert set(group.split(", ")) <= labels | BUILT_IN_LABELS, expression


def test_every_exported_metric_is_used_in_an_expression(exported_labels):
    used = {name for expression in expressions() for name, _ in SELECTOR.findall(expression)}
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in exported_labels}

    assert families - {re.sub(r"_(bucket|count|sum)$", "", name) for name in used} == set()


def test_alert_for_missing_sweeps_fires_before_the_first_one():
    [alert] = [rule for rule in rules() if rule["alert"] == "LoyaltyNoSweeps"]

    assert "or absent(loyalty_sweeps_total)" in alert["expr"]


def test_panels_do_not_overlap():
    occupied = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not occupied & cells
        occupied |= cells


def test_prometheus_accepts_the_alert_rules():
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed: apt-get install prometheus")

    result = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(rules())} rules found" in result.stdout
