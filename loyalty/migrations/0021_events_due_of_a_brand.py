"""Slow lanes are delivered brand by brand: what a brand has due is found beside however much others have."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False  # the index is built beside the work

    dependencies = [("loyalty", "0020_email_confirmations")]

    operations = [
        AddIndexConcurrently(
            "event",
            models.Index(
                fields=["lane", "brand", "due_at"],
                name="event_due_of_brand",
                condition=Q(status="pending") & ~Q(lane="points"),
            ),
        ),
    ]
