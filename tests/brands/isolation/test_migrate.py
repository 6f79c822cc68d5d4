"""`manage.py migrate` on databases that it cannot migrate."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["0001_people_and_tenants", "0003_api_key_scopes"])
def test_a_database_of_a_version_before_the_first_release_is_left_as_it_is(name):
    with connection.as_owner():
        MigrationRecorder(connection).record_applied("brands", name)

    with pytest.raises(CommandError, match="Use an empty database"):
        call_command("migrate", verbosity=0)


def test_control_a_database_of_this_version_is_migrated():
    call_command("migrate", verbosity=0)
