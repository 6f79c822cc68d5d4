"""Every figure that the Grafana dashboard and the alerts ask for is one that /metrics gives, with those labels."""

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
# What Prometheus itself adds, and what histograms carry.
ADDED = {"instance", "job", "le"}


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
def given(db, settings):
    """{name of a sample: its labels}, of everything that a busy installation shows."""
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
    found = {sample.name: set(sample.labels) for family in families for sample in family.samples}
    # Without events and jobs these have no samples now.
    empty = {
        "loyalty_events_pending": {"lane", "kind"},
        "loyalty_events_dead": {"kind"},
        "loyalty_jobs": {"kind", "status"},
    }
    assert set(empty) <= {family.name for family in families}
    return empty | found


def test_every_figure_and_label_exists(given):
    for expression in expressions():
        labels = set()
        for name, selected in SELECTOR.findall(expression):
            assert name in given, expression
            labels |= given[name]
            assert set(re.findall(r"(\w+)(?:=~|!~|!=|=)", selected)) <= given[name] | ADDED, expression
        for group in GROUPED.findall(expression):
            assert set(group.split(", ")) <= labels | ADDED, expression


def test_every_figure_that_is_given_is_shown(given):
    shown = {name for expression in expressions() for name, _ in SELECTOR.findall(expression)}
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in given}

    assert families - {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown} == set()


def test_panels_do_not_lie_over_each_other():
    taken = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not taken & cells
        taken |= cells


def test_prometheus_takes_the_rules():
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed: apt-get install prometheus")

    result = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(rules())} rules found" in result.stdout
