"""Slow kinds of events wait in lanes of their own, so that no receiver that hangs can hold up points."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the indexes are built beside the work

    dependencies = [("loyalty", "0004_one_index_each")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="lane",
            field=models.CharField(
                db_default="points",
                default="points",
                help_text="Slow kinds wait in lanes of their own.",
                max_length=10,
            ),
        ),
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                condition=models.Q(("status", "pending")), fields=["lane", "due_at"], name="event_due_in_lane"
            ),
        ),
        RemoveIndexConcurrently(model_name="event", name="event_due"),
    ]
