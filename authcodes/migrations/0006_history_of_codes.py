"""The history of codes, which refuses UPDATE and DELETE as the ledger does."""

import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


INSTALL = """
CREATE FUNCTION refuse_code_change_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'authcodes_codechange is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER code_change_is_append_only BEFORE UPDATE OR DELETE ON authcodes_codechange
    FOR EACH ROW EXECUTE FUNCTION refuse_code_change_change();
"""
REMOVE = """
DROP TRIGGER code_change_is_append_only ON authcodes_codechange;
DROP FUNCTION refuse_code_change_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0005_rollups_of_closed_days"),
        ("brands", "0001_people_and_tenants"),
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
                    ("export-scans", "Export the scan report"),
                    ("export-unscanned", "Export unscanned codes"),
                    ("export-affected", "Export customers affected by a recall"),
                ],
                max_length=32,
            ),
        ),
        migrations.CreateModel(
            name="CodeChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("action_id", models.UUIDField(default=uuid.uuid4)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("generated", "Generated"),
                            ("assigned", "Assigned"),
                            ("unassigned", "Assignment taken back"),
                            ("imported", "Assigned by import"),
                            ("import_undone", "Import undone"),
                            ("deactivated", "Deactivated"),
                            ("reactivated", "Reactivated"),
                            ("recalled", "Recalled"),
                            ("recall_lifted", "Recall lifted"),
                            ("edited", "Edited"),
                        ],
                        max_length=16,
                    ),
                ),
                ("first_code", models.CharField(db_collation="C", max_length=64)),
                ("last_code", models.CharField(db_collation="C", max_length=64)),
                ("codes", models.PositiveIntegerField(help_text="How many codes changed.", verbose_name="number")),
                ("detail", models.TextField(blank=True, help_text="What was set.")),
                ("reason", models.TextField(blank=True)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="when")),
                (
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="changes",
                        to="authcodes.batchrange",
                    ),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="brands.brand"
                    ),
                ),
                (
                    "changed_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="who",
                    ),
                ),
                (
                    "product",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="authcodes.product",
                    ),
                ),
                (
                    "upload",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="authcodes.import",
                        verbose_name="import",
                    ),
                ),
            ],
            options={
                "verbose_name": "code change",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["batch", "-id"], name="code_change_of_batch"),
                    models.Index(fields=["brand", "-id"], name="code_change_of_brand"),
                    models.Index(fields=["action_id"], name="code_change_of_action"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "generated",
                                    "assigned",
                                    "unassigned",
                                    "imported",
                                    "import_undone",
                                    "deactivated",
                                    "reactivated",
                                    "recalled",
                                    "recall_lifted",
                                    "edited",
                                ],
                            )
                        ),
                        name="code_change_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("first_code__lte", models.F("last_code"))), name="code_change_run_in_order"
                    ),
                ],
            },
        ),
        migrations.RunSQL(INSTALL, REMOVE),
    ]
