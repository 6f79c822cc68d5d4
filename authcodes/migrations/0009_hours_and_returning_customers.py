"""Scans by hour, how many customers scanned and came back, and the words of the navigation for codes and batches.

Closed days are rolled up again by the next run of the worker; until then figures are read from the scans.
"""

import core.moments
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0008_statistics_of_places"),
        ("brands", "0012_broadcast_quota"),
    ]

    operations = [
        migrations.AlterModelOptions("authcode", {"ordering": ["-id"], "verbose_name": "code"}),
        migrations.AlterModelOptions(
            "batchrange", {"ordering": ["-id"], "verbose_name": "batch", "verbose_name_plural": "batches"}
        ),
        migrations.CreateModel(
            name="HourRollup",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", core.moments.DayField(help_text="In the brand's time zone.")),
                ("hour", models.PositiveSmallIntegerField(help_text="From 0 to 23, in the brand's time zone.")),
                ("scans", models.PositiveIntegerField()),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="brands.brand",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="hourrollup",
            constraint=models.UniqueConstraint(fields=("brand", "day", "hour"), name="hour_rollup_once"),
        ),
        migrations.AddField("rollupwatermark", "counted_until", core.moments.DayField(null=True)),
        migrations.AddField("rollupwatermark", "unique_scanners", models.PositiveIntegerField(default=0)),
        migrations.AddField("rollupwatermark", "returned", models.PositiveIntegerField(default=0)),
        migrations.RunSQL("UPDATE authcodes_rollupwatermark SET until = NULL", migrations.RunSQL.noop),
    ]
