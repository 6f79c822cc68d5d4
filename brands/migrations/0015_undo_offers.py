"""What staff did a moment ago and may undo."""

import uuid

import core.moments
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0014_portal_language"),
    ]

    operations = [
        migrations.CreateModel(
            name="UndoOffer",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("kind", models.CharField(max_length=40)),
                ("arguments", models.JSONField(default=dict)),
                ("created_at", core.moments.MomentField(default=django.utils.timezone.now)),
                ("expires_at", core.moments.MomentField()),
                (
                    "brand",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="brands.brand"
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["expires_at"], name="undo_offer_ends")],
            },
        ),
    ]
