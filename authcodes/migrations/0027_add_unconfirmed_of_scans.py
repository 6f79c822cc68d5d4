"""Scans of customers without a confirmed e-mail address reserve a code as guests' do, and are found by the same index."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False  # the index is built beside the work

    dependencies = [("authcodes", "0026_add_interruptions_of_jobs")]

    operations = [
        migrations.AddField(
            model_name="scan",
            name="unconfirmed",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The brand asked for a confirmed e-mail address, and the customer's was not.",
                verbose_name="e-mail address not confirmed",
            ),
        ),
        migrations.AlterField(
            model_name="scan",
            name="points_status",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("awarded", "Awarded"),
                    ("guest", "Guest: no points"),
                    ("unconfirmed", "Waits for a confirmed e-mail address"),
                    ("lapsed", "Not claimed in time"),
                    ("already_claimed", "Already claimed"),
                    ("not_eligible", "Not eligible"),
                    ("limited", "Point limit reached"),
                ],
                max_length=16,
            ),
        ),
        AddIndexConcurrently(
            "scan",
            models.Index(
                fields=["auth_code", "scanned_at"],
                name="scan_that_reserves",
                condition=Q(outcome="success") & (Q(user__isnull=True) | Q(unconfirmed=True)),
            ),
        ),
        RemoveIndexConcurrently("scan", "scan_of_guest"),
    ]
