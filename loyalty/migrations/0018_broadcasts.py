"""Broadcasts to members of segments, and notifications that only a segment gets."""

import core.moments
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0012_broadcast_quota"),
        ("jobs", "0005_reports_as_pdf"),
        ("loyalty", "0017_birthdays_and_referrals"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="notification",
            name="template",
            field=models.CharField(
                choices=[
                    ("NOTIFY_CAMPAIGN_SUCCESS", "Points earned"),
                    ("NOTIFY_LEVEL_REACHED", "Level reached"),
                    ("NOTIFY_LEVEL_ENDING", "Level ends soon"),
                    ("NOTIFY_LEVEL_LOWERED", "Level lost"),
                    ("NOTIFY_REWARD_AVAILABLE", "Reward available"),
                    ("NOTIFY_POINTS_EXPIRING", "Points expire soon"),
                    ("NOTIFY_POINTS_RECEIVED", "Points from another member"),
                    ("NOTIFY_BROADCAST", "Broadcast"),
                    ("NOTIFY_RECALL", "Product recall"),
                    ("NOTIFY_PASSWORD_FORGOTTEN", "Forgotten password"),
                    ("NOTIFY_EMAIL_CONFIRMATION", "Confirm an e-mail address"),
                    ("NOTIFY_ALREADY_REGISTERED", "Already registered"),
                    ("NOTIFY_LOGIN_PAUSED", "Logins from new devices paused"),
                    ("NOTIFY_EMAIL_CHANGE", "Confirm a new e-mail address"),
                    ("NOTIFY_EMAIL_CHANGE_NOTICE", "E-mail address about to change"),
                ],
                max_length=32,
                verbose_name="notification",
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="template",
            field=models.CharField(
                choices=[
                    ("NOTIFY_CAMPAIGN_SUCCESS", "Points earned"),
                    ("NOTIFY_LEVEL_REACHED", "Level reached"),
                    ("NOTIFY_LEVEL_ENDING", "Level ends soon"),
                    ("NOTIFY_LEVEL_LOWERED", "Level lost"),
                    ("NOTIFY_REWARD_AVAILABLE", "Reward available"),
                    ("NOTIFY_POINTS_EXPIRING", "Points expire soon"),
                    ("NOTIFY_POINTS_RECEIVED", "Points from another member"),
                    ("NOTIFY_BROADCAST", "Broadcast"),
                    ("NOTIFY_RECALL", "Product recall"),
                    ("NOTIFY_PASSWORD_FORGOTTEN", "Forgotten password"),
                    ("NOTIFY_EMAIL_CONFIRMATION", "Confirm an e-mail address"),
                    ("NOTIFY_ALREADY_REGISTERED", "Already registered"),
                    ("NOTIFY_LOGIN_PAUSED", "Logins from new devices paused"),
                    ("NOTIFY_EMAIL_CHANGE", "Confirm a new e-mail address"),
                    ("NOTIFY_EMAIL_CHANGE_NOTICE", "E-mail address about to change"),
                ],
                max_length=32,
                verbose_name="notification",
            ),
        ),
        migrations.AlterField(
            model_name="notificationtemplate",
            name="template",
            field=models.CharField(
                choices=[
                    ("NOTIFY_CAMPAIGN_SUCCESS", "Points earned"),
                    ("NOTIFY_LEVEL_REACHED", "Level reached"),
                    ("NOTIFY_LEVEL_ENDING", "Level ends soon"),
                    ("NOTIFY_LEVEL_LOWERED", "Level lost"),
                    ("NOTIFY_REWARD_AVAILABLE", "Reward available"),
                    ("NOTIFY_POINTS_EXPIRING", "Points expire soon"),
                    ("NOTIFY_POINTS_RECEIVED", "Points from another member"),
                    ("NOTIFY_BROADCAST", "Broadcast"),
                    ("NOTIFY_RECALL", "Product recall"),
                    ("NOTIFY_PASSWORD_FORGOTTEN", "Forgotten password"),
                    ("NOTIFY_EMAIL_CONFIRMATION", "Confirm an e-mail address"),
                    ("NOTIFY_ALREADY_REGISTERED", "Already registered"),
                    ("NOTIFY_LOGIN_PAUSED", "Logins from new devices paused"),
                    ("NOTIFY_EMAIL_CHANGE", "Confirm a new e-mail address"),
                    ("NOTIFY_EMAIL_CHANGE_NOTICE", "E-mail address about to change"),
                ],
                max_length=32,
                verbose_name="notification",
            ),
        ),
        migrations.CreateModel(
            name="Broadcast",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(help_text="For staff. Members do not see it.", max_length=80, verbose_name="name"),
                ),
                ("segment_name", models.CharField(blank=True, default="", editable=False, max_length=80)),
                (
                    "channels",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[("email", "E-mail"), ("sms", "SMS"), ("push", "Push")], max_length=5
                        ),
                        default=list,
                        size=None,
                    ),
                ),
                ("texts", models.JSONField(default=dict, editable=False, verbose_name="texts")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("planned", "Planned"),
                            ("sending", "Sending"),
                            ("sent", "Sent"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Interrupted"),
                        ],
                        default="draft",
                        editable=False,
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                (
                    "send_at",
                    core.moments.MomentField(
                        blank=True,
                        help_text="In the brand's time zone. Leave empty to send it as soon as you confirm.",
                        null=True,
                        verbose_name="send at",
                    ),
                ),
                (
                    "next_at",
                    core.moments.MomentField(editable=False, help_text="When sending begins, or goes on.", null=True),
                ),
                ("started_at", core.moments.MomentField(editable=False, null=True, verbose_name="started")),
                ("finished_at", core.moments.MomentField(editable=False, null=True, verbose_name="finished")),
                (
                    "evaluated_at",
                    core.moments.MomentField(
                        editable=False, help_text="When the segment was evaluated that it goes to.", null=True
                    ),
                ),
                ("members", models.PositiveIntegerField(editable=False, null=True, verbose_name="members")),
                (
                    "is_gathered",
                    models.BooleanField(default=False, editable=False, help_text="Every member has a notification."),
                ),
                (
                    "gathered_to",
                    models.BigIntegerField(default=0, editable=False, help_text="The last account that was gathered."),
                ),
                (
                    "published_to",
                    models.BigIntegerField(editable=False, help_text="The last notification on its way.", null=True),
                ),
                ("last_notification", models.BigIntegerField(default=0, editable=False)),
                ("published", models.PositiveIntegerField(default=0, editable=False)),
                ("counted_on", core.moments.DayField(editable=False, null=True)),
                (
                    "counted",
                    models.PositiveIntegerField(
                        default=0, editable=False, help_text="How many of them on that day (UTC)."
                    ),
                ),
                (
                    "figures",
                    models.JSONField(
                        editable=False, help_text="What came of it, once nothing is on its way.", null=True
                    ),
                ),
                (
                    "problem",
                    models.TextField(blank=True, default="", editable=False, help_text="Why it was interrupted."),
                ),
                (
                    "created_at",
                    core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name="created"),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="brands.brand"
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="jobs.job",
                    ),
                ),
                (
                    "segment",
                    models.ForeignKey(
                        blank=True,
                        help_text="Its members get the message. Leave empty for all members.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="broadcasts",
                        to="loyalty.segment",
                        verbose_name="segment",
                    ),
                ),
                (
                    "sent_by",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="sent by",
                    ),
                ),
            ],
            options={
                "verbose_name": "broadcast",
                "verbose_name_plural": "broadcasts",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["brand", "-id"], name="broadcast_of_brand"),
                    models.Index(
                        condition=models.Q(("next_at__isnull", False)), fields=["next_at"], name="broadcast_due"
                    ),
                    models.Index(
                        condition=models.Q(("figures__isnull", True), ("started_at__isnull", False)),
                        fields=["id"],
                        name="broadcast_unsettled",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["draft", "planned", "sending", "sent", "cancelled", "failed"])
                        ),
                        name="broadcast_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "planned"), _negated=True), ("next_at__isnull", False), _connector="OR"
                        ),
                        name="broadcast_planned_for_a_moment",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NotificationSegment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "template",
                    models.CharField(
                        choices=[
                            ("NOTIFY_CAMPAIGN_SUCCESS", "Points earned"),
                            ("NOTIFY_LEVEL_REACHED", "Level reached"),
                            ("NOTIFY_LEVEL_ENDING", "Level ends soon"),
                            ("NOTIFY_LEVEL_LOWERED", "Level lost"),
                            ("NOTIFY_REWARD_AVAILABLE", "Reward available"),
                            ("NOTIFY_POINTS_EXPIRING", "Points expire soon"),
                            ("NOTIFY_POINTS_RECEIVED", "Points from another member"),
                            ("NOTIFY_BROADCAST", "Broadcast"),
                            ("NOTIFY_RECALL", "Product recall"),
                            ("NOTIFY_PASSWORD_FORGOTTEN", "Forgotten password"),
                            ("NOTIFY_EMAIL_CONFIRMATION", "Confirm an e-mail address"),
                            ("NOTIFY_ALREADY_REGISTERED", "Already registered"),
                            ("NOTIFY_LOGIN_PAUSED", "Logins from new devices paused"),
                            ("NOTIFY_EMAIL_CHANGE", "Confirm a new e-mail address"),
                            ("NOTIFY_EMAIL_CHANGE_NOTICE", "E-mail address about to change"),
                        ],
                        max_length=32,
                        verbose_name="notification",
                    ),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="brands.brand"
                    ),
                ),
                (
                    "segment",
                    models.ForeignKey(
                        help_text="Only members who are in this segment when the notification is sent get it.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notifications",
                        to="loyalty.segment",
                        verbose_name="segment",
                    ),
                ),
            ],
            options={
                "verbose_name": "notification for a segment",
                "verbose_name_plural": "notifications for segments",
                "ordering": ["brand_id", "template"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("brand", "template"),
                        name="notification_segment_once",
                        violation_error_message="This notification already has a segment. Edit that one.",
                    )
                ],
            },
        ),
    ]
