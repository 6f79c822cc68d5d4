"""How many processes in a row died of an event."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loyalty", "0021_events_due_of_a_brand")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="crashes",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="Attempts in a row, of this event alone, whose process did not live on.",
            ),
        )
    ]
