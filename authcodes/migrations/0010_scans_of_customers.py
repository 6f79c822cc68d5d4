"""A customer's scans are found in their order, however many there are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0009_hours_and_returning_customers"),
    ]

    operations = [
        migrations.AddIndex(
            "scan",
            models.Index(
                fields=["user", "brand", "-scanned_at", "-scan_id"],
                name="scan_of_customer",
                condition=models.Q(("user__isnull", False)),
            ),
        ),
    ]
