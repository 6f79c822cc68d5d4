"""How many members enrolled on each day, and how many have redeemed a reward. The next run of the worker counts both."""

import core.moments
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0012_broadcast_quota"),
        ("loyalty", "0018_broadcasts"),
    ]

    operations = [
        migrations.CreateModel(
            name="EnrolmentRollup",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", core.moments.DayField()),
                ("enrolled", models.PositiveIntegerField()),
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
            model_name="enrolmentrollup",
            constraint=models.UniqueConstraint(fields=("brand", "day"), name="enrolment_rollup_once"),
        ),
        migrations.AddField("programmewatermark", "rewarded", models.PositiveIntegerField(default=0)),
        migrations.AddIndex(
            "userpoints",
            django.contrib.postgres.indexes.BrinIndex(
                autosummarize=True, fields=["enrolled_at"], name="members_by_enrolment", pages_per_range=16
            ),
        ),
        migrations.RunSQL("UPDATE loyalty_programmewatermark SET counted_until = NULL", migrations.RunSQL.noop),
    ]
