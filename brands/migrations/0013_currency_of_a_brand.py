"""The currency that a brand counts orders in."""

from django.db import migrations, models

import core.currencies


class Migration(migrations.Migration):
    dependencies = [("brands", "0012_add_email_verified_at_and_session_epoch")]

    operations = [
        migrations.AddField(
            model_name="brand",
            name="currency",
            field=models.CharField(
                db_default="EUR",
                default="EUR",
                help_text="In which orders are counted; another earns points only at a rate that the brand states.",
                max_length=3,
                validators=[core.currencies.validate],
            ),
        )
    ]
