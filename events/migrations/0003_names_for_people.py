"""Names that staff read of models and fields, in place of those that Django makes up."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.moments
import events.models
from core.db.names_only import NamesOnly


class Migration(NamesOnly):
    dependencies = [
        ("brands", "0016_names_for_people"),
        ("events", "0002_events_from_outside"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="event",
            options={"ordering": ["-id"], "verbose_name": "event", "verbose_name_plural": "events"},
        ),
        migrations.AlterField(
            model_name="event",
            name="attempts",
            field=models.PositiveIntegerField(default=0, verbose_name="attempts"),
        ),
        migrations.AlterField(
            model_name="event",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="events",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="detail_type",
            field=models.CharField(max_length=64, verbose_name="kind"),
        ),
        migrations.AlterField(
            model_name="event",
            name="due_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now,
                help_text="When it is due. A worker that leases it postpones this.",
                verbose_name="due at",
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="event_id",
            field=models.UUIDField(
                default=uuid.uuid4, help_text="The envelope's id, unique per source.", verbose_name="event id"
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="finished_at",
            field=core.moments.MomentField(blank=True, editable=False, null=True, verbose_name="finished at"),
        ),
        migrations.AlterField(
            model_name="event",
            name="give_up_at",
            field=core.moments.MomentField(
                default=events.models.default_give_up_at,
                help_text="A failure after this moment is final.",
                verbose_name="give up at",
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="last_error",
            field=models.TextField(blank=True, verbose_name="last error"),
        ),
        migrations.AlterField(
            model_name="event",
            name="request_id",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The request that caused it.",
                max_length=64,
                verbose_name="request id",
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="source",
            field=models.CharField(max_length=120, verbose_name="source"),
        ),
        migrations.AlterField(
            model_name="event",
            name="status",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("done", "Done"),
                    ("refused", "Rejected"),
                    ("ignored", "Ignored (no handler)"),
                    ("dead", "Failed"),
                ],
                default="pending",
                max_length=10,
                verbose_name="status",
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="time",
            field=core.moments.MomentField(default=django.utils.timezone.now, verbose_name="time"),
        ),
    ]
