"""Where brands want to hear of what happens, what was said to whom, and the loyalty systems that they ask."""

import core.encryption
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0005_looks_of_a_brand"),
        ("loyalty", "0009_returned_points_are_checked"),
    ]

    operations = [
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "message_id",
                    models.CharField(
                        help_text="The header webhook-id: the same at each attempt and resend.",
                        max_length=64,
                        verbose_name="message id",
                    ),
                ),
                ("type", models.CharField(max_length=40, verbose_name="event")),
                ("body", models.TextField(help_text="What is sent.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed: gave up"),
                            ("dropped", "Not sent: the webhook is disabled"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("last_status", models.PositiveIntegerField(blank=True, null=True, verbose_name="last answer")),
                ("next_attempt_at", models.DateTimeField(blank=True, null=True, verbose_name="next attempt")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="brands.brand"
                    ),
                ),
            ],
            options={
                "verbose_name": "webhook message",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="WebhookAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="when")),
                ("status", models.PositiveIntegerField(null=True)),
                ("milliseconds", models.PositiveIntegerField(verbose_name="duration")),
                ("answer", models.TextField(blank=True, help_text="The beginning of the answer.")),
                ("error", models.CharField(blank=True, max_length=500)),
                (
                    "delivery",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="calls", to="loyalty.webhookdelivery"
                    ),
                ),
            ],
            options={
                "verbose_name": "attempt",
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="WebhookEndpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("secret", core.encryption.EncryptedTextField(editable=False)),
                ("previous_secret", core.encryption.EncryptedTextField(blank=True, editable=False)),
                ("previous_secret_ends_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "url",
                    models.CharField(
                        help_text="An https address. It is called by POST with a signed JSON body.",
                        max_length=500,
                        verbose_name="address",
                    ),
                ),
                ("description", models.CharField(blank=True, max_length=200)),
                (
                    "types",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("points.earned", "points.earned: a customer was credited points"),
                                ("level.reached", "level.reached: a customer reached a level"),
                                ("reward.redeemed", "reward.redeemed: a customer paid points for a reward"),
                                ("code.scanned", "code.scanned: a code was scanned, with every outcome"),
                                ("batch.recalled", "batch.recalled: a batch was called back"),
                            ],
                            max_length=40,
                        ),
                        help_text="What the address is told of.",
                        size=None,
                        verbose_name="events",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("disabled", "Disabled by staff"),
                            ("gone", "Disabled: the receiver answered 410 Gone"),
                            ("failing", "Disabled: it kept failing"),
                        ],
                        default="active",
                        editable=False,
                        max_length=10,
                    ),
                ),
                ("state_since", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "failing_since",
                    models.DateTimeField(
                        blank=True, editable=False, help_text="The first failure since the last success.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "brand",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="webhook_endpoints", to="brands.brand"
                    ),
                ),
            ],
            options={
                "verbose_name": "webhook",
                "ordering": ["-id"],
            },
        ),
        migrations.AddField(
            model_name="webhookdelivery",
            name="endpoint",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="loyalty.webhookendpoint",
                verbose_name="webhook",
            ),
        ),
        migrations.CreateModel(
            name="ExternalSystem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("secret", core.encryption.EncryptedTextField(editable=False)),
                ("previous_secret", core.encryption.EncryptedTextField(blank=True, editable=False)),
                ("previous_secret_ends_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "url",
                    models.CharField(
                        help_text="An https address. It is asked by POST with a signed JSON body.",
                        max_length=500,
                        verbose_name="address",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True, help_text="Off: points are credited without it.", verbose_name="is asked"
                    ),
                ),
                (
                    "when_refused",
                    models.CharField(
                        choices=[
                            ("hold", "Hold the event and ask again later"),
                            ("proceed", "Credit the points all the same"),
                            ("refuse", "Credit nothing: its no is final"),
                        ],
                        default="hold",
                        max_length=10,
                        verbose_name="when it refuses",
                    ),
                ),
                (
                    "when_away",
                    models.CharField(
                        choices=[
                            ("hold", "Hold the event and ask again later"),
                            ("proceed", "Credit the points all the same"),
                        ],
                        default="hold",
                        max_length=10,
                        verbose_name="when it does not answer",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "brand",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="external_system", to="brands.brand"
                    ),
                ),
            ],
            options={
                "verbose_name": "external loyalty system",
                "ordering": ["brand_id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("when_refused__in", ["hold", "proceed", "refuse"])), name="refusal_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("when_away__in", ["hold", "proceed"])), name="absence_known"
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["active", "disabled", "gone", "failing"])), name="webhook_state_known"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["brand", "-id"], name="webhooks_of_a_brand"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["endpoint", "-id"], name="webhooks_of_an_endpoint"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["created_at"], name="webhooks_by_age"),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.UniqueConstraint(fields=("message_id", "endpoint"), name="webhook_once_per_endpoint"),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "delivered", "failed", "dropped"])),
                name="webhook_delivery_state_known",
            ),
        ),
    ]
