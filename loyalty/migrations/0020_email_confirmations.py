"""Addresses that wait for their owner's confirmation, and the mails about an account."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

TEMPLATES = [
    ("NOTIFY_CAMPAIGN_SUCCESS", "Points earned"),
    ("NOTIFY_LEVEL_REACHED", "Level reached"),
    ("NOTIFY_REWARD_AVAILABLE", "Reward available"),
    ("NOTIFY_POINTS_EXPIRING", "Points expire soon"),
    ("NOTIFY_RECALL", "Product recall"),
    ("NOTIFY_PASSWORD_FORGOTTEN", "Forgotten password"),
    ("NOTIFY_EMAIL_CONFIRMATION", "Confirm an e-mail address"),
    ("NOTIFY_ALREADY_REGISTERED", "Registered already"),
    ("NOTIFY_LOGIN_PAUSED", "Logins from new devices paused"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0012_add_email_verified_at_and_session_epoch"),
        ("loyalty", "0019_points_approvals"),
    ]

    operations = [
        *(
            migrations.AlterField(
                model_name=name,
                name="template",
                field=models.CharField(choices=TEMPLATES, max_length=32, verbose_name="notice"),
            )
            for name in ("notice", "noticedelivery", "noticetemplate")
        ),
        migrations.AlterField(
            model_name="noticesettings",
            name="is_active",
            field=models.BooleanField(
                default=True,
                help_text="Off: nothing is sent but recalls and what concerns the account itself, by e-mail.",
                verbose_name="send notifications",
            ),
        ),
        migrations.CreateModel(
            name="EmailConfirmation",
            fields=[
                (
                    "confirmation_id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("email", models.EmailField(max_length=254)),
                ("reserved_user_id", models.BigIntegerField(null=True)),
                ("password", models.CharField(blank=True, max_length=128)),
                ("first_name", models.CharField(blank=True, max_length=150)),
                ("last_name", models.CharField(blank=True, max_length=150)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("confirmed_at", models.DateTimeField(null=True)),
                (
                    "brand",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="brands.brand"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "confirmation_id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(user__isnull=True, reserved_user_id__isnull=False)
                        | models.Q(user__isnull=False, reserved_user_id__isnull=True),
                        name="confirmation_of_customer_or_newcomer",
                    )
                ],
            },
        ),
    ]
