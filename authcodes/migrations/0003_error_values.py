"""Errors of an import's rows are stored in English with their values, and translated for whoever looks."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("authcodes", "0002_triggers_and_storage")]

    operations = [
        migrations.AddField(
            model_name="importrow",
            name="error_values",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
