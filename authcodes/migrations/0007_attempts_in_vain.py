"""Attempts on codes never scanned, kept apart for the dashboard; rollups are made anew, read live until then."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FORGET = """
TRUNCATE authcodes_dayrollup, authcodes_placerollup, authcodes_cellrollup, authcodes_scannerrollup, authcodes_scanner;
UPDATE authcodes_rollupmark SET until = NULL;
"""
NOT_ACCEPTED = """
CREATE INDEX scan_not_accepted ON authcodes_scan (brand_id, scanned_at)
    INCLUDE (auth_code_id, user_id, batch_id, campaign_id, product_id, location, outcome, reason)
    WHERE outcome <> 'success';
"""
DEACTIVATED = """
DROP INDEX auth_code_deactivated;
CREATE INDEX auth_code_deactivated ON authcodes_authcode ({columns}) WHERE deactivated_at IS NOT NULL;
"""


def copied(model):
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        null=True,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name="+",
        to=model,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0006_history_of_codes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(FORGET, FORGET),
        migrations.RunSQL("DROP INDEX scan_not_accepted", NOT_ACCEPTED),
        # Their ids from the index alone.
        migrations.RunSQL(
            DEACTIVATED.format(columns="brand_id, batch_id, id"), DEACTIVATED.format(columns="brand_id, batch_id")
        ),
        # The busiest places from an index alone.
        migrations.RemoveIndex("CellRollup", "cell_rollup_of_campaign"),
        migrations.AddIndex(
            "CellRollup",
            models.Index(
                fields=["brand", "campaign", "day"], name="cell_rollup_of_campaign", include=["location", "accepted"]
            ),
        ),
        migrations.AddIndex(
            "CellRollup",
            models.Index(
                fields=["brand", "batch", "day"], name="cell_rollup_of_batch", include=["location", "accepted"]
            ),
        ),
        migrations.RemoveIndex("ScannerRollup", "scanner_of_day"),
        migrations.RemoveIndex("ScannerRollup", "scanner_of_campaign"),
        migrations.RemoveIndex("ScannerRollup", "scanner_of_batch"),
        migrations.RemoveConstraint("Scanner", "scanner_once"),
        migrations.RenameField("ScannerRollup", "accepted", "scanned"),
        migrations.RenameField("Scanner", "accepted", "scanned"),
        migrations.AddIndex(
            "ScannerRollup", models.Index(fields=["brand", "day"], name="scanner_of_day", include=["user", "scanned"])
        ),
        migrations.AddIndex(
            "ScannerRollup",
            models.Index(fields=["brand", "campaign", "day"], name="scanner_of_campaign", include=["user", "scanned"]),
        ),
        migrations.AddIndex(
            "ScannerRollup",
            models.Index(fields=["brand", "batch", "day"], name="scanner_of_batch", include=["user", "scanned"]),
        ),
        migrations.AddConstraint(
            "Scanner",
            models.UniqueConstraint(fields=["brand", "user"], name="scanner_once", include=["scanned"]),
        ),
        migrations.CreateModel(
            name="VainAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField(help_text="In the brand's time zone.")),
                ("location", models.CharField(blank=True, max_length=200)),
                ("outcome", models.CharField(max_length=7)),
                ("reason", models.CharField(max_length=20)),
                ("auth_code", copied("authcodes.authcode")),
                ("batch", copied("authcodes.batchrange")),
                ("campaign", copied("campaigns.campaign")),
                ("product", copied("authcodes.product")),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="brands.brand",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["brand", "day"], name="vain_attempt_of_day")]},
        ),
    ]
