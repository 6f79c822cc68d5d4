"""Which database a long read is sent to. A real replica: bin/several-hosts."""

import pytest
from django.db import connections

from core.db import replica


@pytest.fixture
def named(settings, monkeypatch, django_db_blocker):
    """A second connection to the same server, which is thus no standby."""
    entry = {**connections["default"].settings_dict}
    monkeypatch.setitem(settings.DATABASES, "replica", entry)
    monkeypatch.setitem(connections.settings, "replica", entry)
    replica.cooldown.end()
    with django_db_blocker.unblock():  # Django's tests know only the databases of their settings
        yield entry
    replica.cooldown.end()
    if "replica" in connections:
        connections["replica"].close()
        del connections["replica"]


@pytest.mark.django_db(transaction=True)
def test_without_one_the_primary_is_read():
    assert replica.alias(patience_seconds=0) == "default"


@pytest.mark.django_db(transaction=True)
def test_a_server_that_is_no_standby_is_not_read(named, caplog):
    assert replica.alias(patience_seconds=0) == "default"

    assert "no standby" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_one_that_is_away_costs_one_try(named, caplog):
    named["HOST"] = "/nowhere"

    assert [replica.alias(patience_seconds=0) for _ in range(3)] == ["default"] * 3
    assert caplog.text.count("is not read") == 1


@pytest.mark.django_db
def test_inside_a_transaction_only_the_primary_knows_what_was_written(named):
    assert replica.alias(patience_seconds=0) == "default"
    assert not replica.cooldown.is_on
