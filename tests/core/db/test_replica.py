"""Which database a long read uses. For a real replica, run bin/several-hosts."""

import pytest
from django.db import connections

from core.db import replica


@pytest.fixture
def configured_replica(settings, monkeypatch, django_db_blocker):
    """A replica setting that leads to the primary, which is therefore not a standby."""
    entry = {**connections["default"].settings_dict}
    monkeypatch.setitem(settings.DATABASES, "replica", entry)
    monkeypatch.setitem(connections.settings, "replica", entry)
    replica.cooldown.end()
    with django_db_blocker.unblock():  # tests may otherwise use only the databases of the original settings
        yield entry
    replica.cooldown.end()
    if "replica" in connections:
        connections["replica"].close()
        del connections["replica"]


@pytest.mark.django_db(transaction=True)
def test_without_a_replica_the_primary_is_read():
    assert replica.alias(patience_seconds=0) == "default"


@pytest.mark.django_db(transaction=True)
def test_server_that_is_not_a_standby_is_not_read(configured_replica, caplog):
    assert replica.alias(patience_seconds=0) == "default"

    assert "no standby" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_unreachable_replica_is_tried_once(configured_replica, caplog):
    configured_replica["HOST"] = "/nowhere"

    assert [replica.alias(patience_seconds=0) for _ in range(3)] == ["default"] * 3
    assert caplog.text.count("is not read") == 1


@pytest.mark.django_db
def test_reads_inside_a_transaction_use_the_primary(configured_replica):
    assert replica.alias(patience_seconds=0) == "default"
    assert not replica.cooldown.is_on
