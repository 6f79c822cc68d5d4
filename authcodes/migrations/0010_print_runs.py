"""Print runs, and their jobs' kinds."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0009_undoing_an_import"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("generate", "Generate codes"),
                    ("change-codes", "Change many codes"),
                    ("check-import", "Check an import"),
                    ("commit-import", "Commit an import"),
                    ("undo-import", "Undo an import"),
                    ("export-scans", "Export the scan report"),
                    ("export-unscanned", "Export unscanned codes"),
                    ("export-affected", "Export customers affected by a recall"),
                    ("print-batch", "Print a batch's codes"),
                    ("print-list", "Print the codes of a list"),
                ],
                max_length=32,
            ),
        ),
        migrations.CreateModel(
            name="PrintRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "what",
                    models.CharField(
                        choices=[
                            ("labels", "Label sheets (PDF)"),
                            ("png", "QR images, PNG (ZIP)"),
                            ("svg", "QR images, SVG (ZIP)"),
                        ],
                        max_length=6,
                        verbose_name="what",
                    ),
                ),
                ("first_code", models.CharField(db_collation="C", max_length=64)),
                ("last_code", models.CharField(db_collation="C", max_length=64)),
                ("codes", models.PositiveIntegerField(help_text="How many codes.", verbose_name="number")),
                ("settings", models.JSONField(default=dict, editable=False)),
                ("sha256", models.CharField(blank=True, max_length=64, verbose_name="SHA-256 of the file")),
                (
                    "manifest_sha256",
                    models.CharField(blank=True, max_length=64, verbose_name="SHA-256 of the manifest"),
                ),
                ("pages", models.PositiveIntegerField(blank=True, help_text="Of label sheets.", null=True)),
                (
                    "read_back",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="How many codes were read again from what was made, and were right.",
                        null=True,
                    ),
                ),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="when")),
                (
                    "batch",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="Empty: codes of a list, which may be of several batches.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="print_runs",
                        to="authcodes.batchrange",
                    ),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="print_runs",
                        to="brands.brand",
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="print_run", to="authcodes.job"
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="who",
                    ),
                ),
            ],
            options={
                "verbose_name": "print run",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["brand", "-id"], name="print_run_of_brand"),
                    models.Index(fields=["batch", "-id"], name="print_run_of_batch"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=Q(what__in=["labels", "png", "svg"]), name="print_run_what_known"),
                    models.CheckConstraint(
                        condition=Q(first_code__lte=F("last_code")), name="print_run_range_in_order"
                    ),
                    models.CheckConstraint(condition=Q(codes__gte=1), name="print_run_not_empty"),
                ],
            },
        ),
    ]
