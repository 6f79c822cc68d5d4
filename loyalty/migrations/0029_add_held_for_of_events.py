"""Events wait for a customer's confirmed e-mail address, and are found when it is confirmed."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False  # the index is built beside the work

    dependencies = [("loyalty", "0028_notice_settings_of_every_brand")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="held_for",
            field=models.BigIntegerField(
                blank=True,
                null=True,
                help_text="The customer whose confirmed e-mail address it waits for.",
                verbose_name="held for",
            ),
        ),
        AddIndexConcurrently(
            "event",
            models.Index(
                fields=["held_for"], name="event_held", condition=Q(status="pending", held_for__isnull=False)
            ),
        ),
    ]
