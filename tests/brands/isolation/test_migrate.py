"""`manage.py migrate`: databases that it cannot migrate, and models that it need not render again."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ModelState, ProjectState

from brands.management.commands.migrate import rendering_new_models_only

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["0001_people_and_tenants", "0003_api_key_scopes"])
def test_database_from_before_the_first_release_is_not_migrated(name):
    with connection.as_owner():
        MigrationRecorder(connection).record_applied("brands", name)

    with pytest.raises(CommandError, match="Use an empty database"):
        call_command("migrate", verbosity=0)


def test_control_database_of_this_version_is_migrated():
    call_command("migrate", verbosity=0)


def model_state(name, **fields):
    return ModelState("shop", name, [("id", models.AutoField(primary_key=True)), *fields.items()])


def test_model_is_related_to_a_new_one_without_being_rendered_again():
    state = ProjectState()
    state.add_model(model_state("Shelf"))
    shelf = state.apps.get_model("shop", "Shelf")

    with rendering_new_models_only():
        state.add_model(model_state("Box", shelf=models.ForeignKey("shop.Shelf", models.CASCADE)))
        state.add_model(model_state("Label", box=models.OneToOneField("shop.Box", models.CASCADE)))

    box, label = (state.apps.get_model("shop", name) for name in ("Box", "Label"))
    assert state.apps.get_model("shop", "Shelf") is shelf
    assert [(each.related_model, each.name) for each in shelf._meta.related_objects] == [(box, "box")]
    assert [each.related_model for each in box._meta.related_objects] == [label]
    assert box._meta.get_field("shelf").related_model is shelf


def test_changed_model_is_rendered_again_with_the_models_referring_to_it():
    state = ProjectState()
    state.add_model(model_state("Shelf"))
    state.add_model(model_state("Box", shelf=models.ForeignKey("shop.Shelf", models.CASCADE)))
    before = state.apps.get_model("shop", "Shelf")

    with rendering_new_models_only():
        state.add_field("shop", "shelf", "floor", models.IntegerField(), preserve_default=True)

    shelf, box = (state.apps.get_model("shop", name) for name in ("Shelf", "Box"))
    assert shelf is not before
    assert shelf._meta.get_field("floor")
    assert box._meta.get_field("shelf").related_model is shelf
