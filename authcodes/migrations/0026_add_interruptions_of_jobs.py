"""Attempts at jobs that ended because the database went away are counted apart."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("authcodes", "0025_add_exports_of_lists")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="interruptions",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                editable=False,
                help_text="Attempts that ended because the database went away, not their workers.",
                verbose_name="interruptions",
            ),
        ),
    ]
