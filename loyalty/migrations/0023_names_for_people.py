"""Names that staff read of models and fields, in place of those that Django makes up."""

import uuid
from decimal import Decimal

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import core.encryption
import core.moments
from core.db.names_only import NamesOnly


class Migration(NamesOnly):
    dependencies = [
        ("brands", "0016_names_for_people"),
        ("loyalty", "0022_hand_overs_and_consents"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="brandlevel",
            options={"ordering": ["brand_id", "threshold"], "verbose_name": "level", "verbose_name_plural": "levels"},
        ),
        migrations.AlterModelOptions(
            name="emailconfirmation",
            options={
                "ordering": ["-created_at", "confirmation_id"],
                "verbose_name": "e-mail confirmation",
                "verbose_name_plural": "e-mail confirmations",
            },
        ),
        migrations.AlterModelOptions(
            name="externalsystem",
            options={
                "ordering": ["brand_id"],
                "verbose_name": "external loyalty system",
                "verbose_name_plural": "external loyalty systems",
            },
        ),
        migrations.AlterModelOptions(
            name="notificationdelivery",
            options={"ordering": ["-id"], "verbose_name": "notification", "verbose_name_plural": "notifications"},
        ),
        migrations.AlterModelOptions(
            name="notificationtemplate",
            options={
                "ordering": ["brand_id", "template", "channel", "language"],
                "verbose_name": "notification template",
                "verbose_name_plural": "notification templates",
            },
        ),
        migrations.AlterModelOptions(
            name="redemption",
            options={"ordering": ["-id"], "verbose_name": "redemption", "verbose_name_plural": "redemptions"},
        ),
        migrations.AlterModelOptions(
            name="reward",
            options={"ordering": ["-id"], "verbose_name": "reward", "verbose_name_plural": "rewards"},
        ),
        migrations.AlterModelOptions(
            name="userpoints",
            options={"ordering": ["-user_point_id"], "verbose_name": "member", "verbose_name_plural": "members"},
        ),
        migrations.AlterModelOptions(
            name="walletissuer",
            options={
                "ordering": ["brand_id", "platform"],
                "verbose_name": "wallet certificate",
                "verbose_name_plural": "wallet certificates",
            },
        ),
        migrations.AlterModelOptions(
            name="webhookendpoint",
            options={"ordering": ["-id"], "verbose_name": "webhook", "verbose_name_plural": "webhooks"},
        ),
        migrations.AlterField(
            model_name="brandlevel",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="levels",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="brandlevel",
            name="name",
            field=models.CharField(max_length=60, verbose_name="name"),
        ),
        migrations.AlterField(
            model_name="brandlevel",
            name="scan_reward_type",
            field=models.CharField(
                choices=[("points", "Fixed points"), ("percentage", "Percent of the amount")],
                default="points",
                max_length=10,
                verbose_name="scan reward type",
            ),
        ),
        migrations.AlterField(
            model_name="brandlevel",
            name="scan_reward_value",
            field=models.DecimalField(
                decimal_places=2,
                default=Decimal("1"),
                max_digits=10,
                validators=[django.core.validators.MinValueValidator(0)],
                verbose_name="scan reward value",
            ),
        ),
        migrations.AlterField(
            model_name="brandlevel",
            name="threshold",
            field=models.DecimalField(
                decimal_places=2,
                default=Decimal("0"),
                help_text="Points needed to reach this level: all ever earned, or those of a period where levels end.",
                max_digits=12,
                validators=[django.core.validators.MinValueValidator(0)],
                verbose_name="threshold",
            ),
        ),
        migrations.AlterField(
            model_name="broadcast",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="broadcast",
            name="channels",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[("email", "E-mail"), ("sms", "SMS"), ("push", "Push")], max_length=5
                ),
                default=list,
                size=None,
                verbose_name="channels",
            ),
        ),
        migrations.AlterField(
            model_name="broadcast",
            name="created_by",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="created by",
            ),
        ),
        migrations.AlterField(
            model_name="broadcast",
            name="problem",
            field=models.TextField(
                blank=True, default="", editable=False, help_text="Why it was interrupted.", verbose_name="problem"
            ),
        ),
        migrations.AlterField(
            model_name="broadcast",
            name="segment_name",
            field=models.CharField(blank=True, default="", editable=False, max_length=80, verbose_name="segment name"),
        ),
        migrations.AlterField(
            model_name="currencyrate",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="externalsystem",
            name="brand",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="external_system",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="externalsystem",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="externalsystem",
            name="previous_secret_ends_at",
            field=core.moments.MomentField(
                blank=True, editable=False, null=True, verbose_name="previous secret ends at"
            ),
        ),
        migrations.AlterField(
            model_name="levelchange",
            name="brand",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="levelchange",
            name="user_point",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="level_changes",
                to="loyalty.userpoints",
                verbose_name="member",
            ),
        ),
        migrations.AlterField(
            model_name="loyaltytransaction",
            name="brand",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="loyaltytransaction",
            name="created_at",
            field=core.moments.MomentField(
                db_column="createdAt", default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="loyaltytransaction",
            name="note",
            field=models.TextField(blank=True, help_text="Shown to the customer.", verbose_name="note"),
        ),
        migrations.AlterField(
            model_name="loyaltytransaction",
            name="reason",
            field=models.CharField(
                choices=[
                    ("earned", "Earned"),
                    ("redeemed", "Redeemed"),
                    ("expired", "Expired"),
                    ("reversed", "Reversed"),
                    ("pending", "Pending"),
                    ("released", "Released"),
                    ("cancelled", "Cancelled"),
                    ("merged", "Merged"),
                ],
                max_length=50,
                verbose_name="reason",
            ),
        ),
        migrations.AlterField(
            model_name="loyaltytransaction",
            name="reason_id",
            field=models.CharField(
                help_text="For scans the code, else a namespaced id.", max_length=255, verbose_name="reason id"
            ),
        ),
        migrations.AlterField(
            model_name="loyaltytransaction",
            name="user_point",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="transactions",
                to="loyalty.userpoints",
                verbose_name="member",
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="attempts",
            field=models.PositiveIntegerField(default=0, verbose_name="attempts"),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="channel",
            field=models.CharField(
                choices=[("email", "E-mail"), ("sms", "SMS"), ("push", "Push")], max_length=5, verbose_name="channel"
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="created_at",
            field=core.moments.MomentField(default=django.utils.timezone.now, verbose_name="created at"),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="device",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="loyalty.device",
                verbose_name="device",
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="event_id",
            field=models.UUIDField(help_text="The event that caused it.", verbose_name="event id"),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="finished_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="finished at"),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="language",
            field=models.CharField(
                choices=[("en", "English"), ("de", "German"), ("ar", "Arabic")], max_length=5, verbose_name="language"
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="last_error",
            field=models.TextField(blank=True, verbose_name="last error"),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="notification",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="loyalty.notification",
                verbose_name="notification",
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="provider_id",
            field=models.CharField(
                blank=True,
                help_text="The id at the mail, SMS or push service.",
                max_length=255,
                verbose_name="provider id",
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="status",
            field=models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("sent", "Sent"),
                    ("failed", "Failed"),
                    ("suppressed", "Suppressed"),
                    ("bounced", "Bounced"),
                ],
                default="queued",
                max_length=10,
                verbose_name="status",
            ),
        ),
        migrations.AlterField(
            model_name="notificationdelivery",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="customer",
            ),
        ),
        migrations.AlterField(
            model_name="notificationsegment",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="notificationsettings",
            name="brand",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notice_settings",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="notificationsettings",
            name="language",
            field=models.CharField(
                choices=[("en", "English"), ("de", "German"), ("ar", "Arabic")],
                default="en",
                help_text="For customers who have not chosen a language.",
                max_length=5,
                verbose_name="language",
            ),
        ),
        migrations.AlterField(
            model_name="notificationsettings",
            name="merge_seconds",
            field=models.PositiveIntegerField(
                default=60,
                help_text="Points earned within this many seconds are combined into one notification.",
                validators=[django.core.validators.MaxValueValidator(3600)],
                verbose_name="seconds to combine",
            ),
        ),
        migrations.AlterField(
            model_name="notificationsettings",
            name="reply_to",
            field=models.EmailField(
                blank=True,
                help_text="Leave empty for the brand's support address.",
                max_length=254,
                verbose_name="reply to",
            ),
        ),
        migrations.AlterField(
            model_name="notificationsettings",
            name="sender_address",
            field=models.EmailField(
                blank=True,
                help_text="Used once its domain is verified under Sender domains. Until then, e-mails come from the installation's address and replies go to this one. The domain must allow this installation's mail server (SPF, DKIM).",
                max_length=254,
                verbose_name="sender address",
            ),
        ),
        migrations.AlterField(
            model_name="notificationsettings",
            name="sender_name",
            field=models.CharField(
                blank=True,
                help_text="Shown next to a verified sender address. Leave empty for the brand's name.",
                max_length=120,
                verbose_name="sender name",
            ),
        ),
        migrations.AlterField(
            model_name="notificationtemplate",
            name="body",
            field=models.TextField(verbose_name="body"),
        ),
        migrations.AlterField(
            model_name="notificationtemplate",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="notificationtemplate",
            name="channel",
            field=models.CharField(
                choices=[("email", "E-mail"), ("sms", "SMS"), ("push", "Push")], max_length=5, verbose_name="channel"
            ),
        ),
        migrations.AlterField(
            model_name="notificationtemplate",
            name="language",
            field=models.CharField(
                choices=[("en", "English"), ("de", "German"), ("ar", "Arabic")], max_length=5, verbose_name="language"
            ),
        ),
        migrations.AlterField(
            model_name="notificationtemplate",
            name="subject",
            field=models.CharField(
                blank=True,
                help_text="Subject of an e-mail or title of a push message. An SMS has none.",
                max_length=200,
                verbose_name="subject",
            ),
        ),
        migrations.AlterField(
            model_name="notificationtemplate",
            name="updated_at",
            field=core.moments.MomentField(auto_now=True, verbose_name="updated at"),
        ),
        migrations.AlterField(
            model_name="orderreturn",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="orderreturn",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="customer",
            ),
        ),
        migrations.AlterField(
            model_name="pointcost",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="point_costs",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="pointsapproval",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="brands.brand", verbose_name="brand"
            ),
        ),
        migrations.AlterField(
            model_name="pointsapproval",
            name="kind",
            field=models.CharField(help_text="The row's model: app.model", max_length=60, verbose_name="kind"),
        ),
        migrations.AlterField(
            model_name="pointsapproval",
            name="row_id",
            field=models.BigIntegerField(verbose_name="row id"),
        ),
        migrations.AlterField(
            model_name="pointsapproval",
            name="status",
            field=models.CharField(
                choices=[
                    ("pending", "Waiting for approval"),
                    ("approved", "Approved"),
                    ("rejected", "Rejected"),
                    ("withdrawn", "Withdrawn"),
                ],
                default="pending",
                max_length=10,
                verbose_name="status",
            ),
        ),
        migrations.AlterField(
            model_name="pointsrollup",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="pointtransfer",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="poolcode",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="poolcode",
            name="redemption",
            field=models.OneToOneField(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="pool_code",
                to="loyalty.redemption",
                verbose_name="redemption",
            ),
        ),
        migrations.AlterField(
            model_name="poolcode",
            name="reward",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="pool_codes",
                to="loyalty.reward",
                verbose_name="reward",
            ),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="balance_after",
            field=models.DecimalField(decimal_places=2, editable=False, max_digits=14, verbose_name="balance after"),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="redemptions",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="cancelled_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="cancelled at"),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="code",
            field=models.CharField(db_collation="C", editable=False, max_length=16, verbose_name="code"),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="cost",
            field=models.DecimalField(decimal_places=2, max_digits=10, verbose_name="cost"),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="expires_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="expires at"),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="reward",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="redemptions",
                to="loyalty.reward",
                verbose_name="reward",
            ),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="status",
            field=models.CharField(
                choices=[("issued", "Issued"), ("used", "Used"), ("cancelled", "Cancelled")],
                default="issued",
                max_length=10,
                verbose_name="status",
            ),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="used_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="used at"),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="used_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="used by",
            ),
        ),
        migrations.AlterField(
            model_name="redemption",
            name="used_key",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="brands.apikey",
                verbose_name="API key",
            ),
        ),
        migrations.AlterField(
            model_name="referral",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="referralprogramme",
            name="brand",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="referral_programme",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rewards",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="code_days",
            field=models.PositiveIntegerField(
                blank=True,
                default=90,
                help_text="Days until an unused code expires. Leave empty for no expiry.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="code days",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="cost",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="In points. Leave empty for a reward that is not for sale, and is only won in campaigns.",
                max_digits=10,
                null=True,
                validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
                verbose_name="cost",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="description",
            field=models.TextField(blank=True, max_length=2000, verbose_name="description"),
        ),
        migrations.AlterField(
            model_name="reward",
            name="is_active",
            field=models.BooleanField(default=True, verbose_name="active"),
        ),
        migrations.AlterField(
            model_name="reward",
            name="limit_per_member",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Maximum per member. Leave empty for no limit.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="limit per member",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="minimum_level",
            field=models.ForeignKey(
                blank=True,
                help_text="Only for members of this level and above. Leave empty for all members.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rewards",
                to="loyalty.brandlevel",
                verbose_name="minimum level",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="name",
            field=models.CharField(max_length=120, verbose_name="name"),
        ),
        migrations.AlterField(
            model_name="reward",
            name="segment",
            field=models.ForeignKey(
                blank=True,
                help_text="Only for members of this segment; nobody else sees the reward. Leave empty for all members.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rewards",
                to="loyalty.segment",
                verbose_name="segment",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="stock",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Number in stock. Leave empty for unlimited stock.",
                null=True,
                verbose_name="stock",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="valid_from",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="valid from"),
        ),
        migrations.AlterField(
            model_name="reward",
            name="valid_until",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="valid until"),
        ),
        migrations.AlterField(
            model_name="segment",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="segments",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="segment",
            name="conditions",
            field=models.JSONField(blank=True, db_default={}, default=dict, verbose_name="conditions"),
        ),
        migrations.AlterField(
            model_name="segment",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="segment",
            name="name",
            field=models.CharField(max_length=80, verbose_name="name"),
        ),
        migrations.AlterField(
            model_name="senderdomain",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="senderdomain",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="senderdomain",
            name="last_error",
            field=models.CharField(blank=True, editable=False, max_length=200, verbose_name="last error"),
        ),
        migrations.AlterField(
            model_name="suppressedaddress",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="suppressedaddress",
            name="channel",
            field=models.CharField(
                choices=[("email", "E-mail"), ("sms", "SMS"), ("push", "Push")], max_length=5, verbose_name="channel"
            ),
        ),
        migrations.AlterField(
            model_name="suppressedaddress",
            name="reason",
            field=models.TextField(verbose_name="reason"),
        ),
        migrations.AlterField(
            model_name="suppressedaddress",
            name="stopped_at",
            field=core.moments.MomentField(default=django.utils.timezone.now, verbose_name="stopped at"),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="members",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="current_level",
            field=models.CharField(
                blank=True,
                help_text="Name of the level. Empty means the lowest level.",
                max_length=60,
                verbose_name="current level",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="enrolled_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="enrolled at"
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="level_due_at",
            field=core.moments.MomentField(
                blank=True, help_text="When the level is looked at again.", null=True, verbose_name="level due at"
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="level_warned_until",
            field=core.moments.DayField(
                blank=True,
                help_text="The end that the member was warned of.",
                null=True,
                verbose_name="warned of the end on",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_before_period",
            field=models.DecimalField(
                db_default=Decimal("0"),
                decimal_places=2,
                default=Decimal("0"),
                help_text="Lifetime points from before the period. They no longer count towards a level.",
                max_digits=14,
                verbose_name="points before the period",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="level_until",
            field=core.moments.DayField(
                blank=True, help_text="The last day of the level, if it ends.", null=True, verbose_name="level until"
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="merged_into",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                help_text="The account of the same person that goes on, where this one was merged.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="loyalty.userpoints",
                verbose_name="merged into",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="period_from",
            field=core.moments.DayField(
                blank=True,
                help_text="The first day whose points count towards a level.",
                null=True,
                verbose_name="period from",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points",
            field=models.DecimalField(
                decimal_places=2,
                default=Decimal("0"),
                help_text="Current balance.",
                max_digits=14,
                verbose_name="points",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_earned",
            field=models.DecimalField(
                decimal_places=2, default=Decimal("0"), max_digits=14, verbose_name="points earned"
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_expired",
            field=models.DecimalField(
                decimal_places=2, default=Decimal("0"), max_digits=14, verbose_name="points expired"
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_owed",
            field=models.DecimalField(
                db_default=Decimal("0"),
                decimal_places=2,
                default=Decimal("0"),
                help_text="Points of returned orders that were spent already. The next points that come in settle them.",
                max_digits=14,
                verbose_name="points owed",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_pending",
            field=models.DecimalField(
                db_default=Decimal("0"),
                decimal_places=2,
                default=Decimal("0"),
                help_text="Earned by orders, but not yet part of the balance.",
                max_digits=14,
                verbose_name="points pending",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_received",
            field=models.DecimalField(
                db_default=Decimal("0"),
                decimal_places=2,
                default=Decimal("0"),
                help_text="Earned points that other members gave. They do not count towards a level.",
                max_digits=14,
                verbose_name="points received",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_redeemed",
            field=models.DecimalField(
                decimal_places=2, default=Decimal("0"), max_digits=14, verbose_name="points redeemed"
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_returned",
            field=models.DecimalField(
                db_default=Decimal("0"),
                decimal_places=2,
                default=Decimal("0"),
                help_text="Earned points that were refunded from cancelled redemptions. They do not count towards a level.",
                max_digits=14,
                verbose_name="points returned",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="points_reversed",
            field=models.DecimalField(
                db_default=Decimal("0"),
                decimal_places=2,
                default=Decimal("0"),
                help_text="Points of returned orders that were taken back.",
                max_digits=14,
                verbose_name="points reversed",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="status",
            field=models.CharField(
                choices=[("active", "Active"), ("blocked", "Blocked"), ("merged", "Merged")],
                default="active",
                max_length=10,
                verbose_name="status",
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="updated_at",
            field=core.moments.MomentField(
                db_column="updatedAt", default=django.utils.timezone.now, editable=False, verbose_name="updated at"
            ),
        ),
        migrations.AlterField(
            model_name="userpoints",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="points_rows",
                to=settings.AUTH_USER_MODEL,
                verbose_name="customer",
            ),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="account",
            field=models.CharField(
                help_text="Apple: the team. Google: the service account.", max_length=254, verbose_name="account"
            ),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="wallet_issuers",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="certificates",
            field=models.TextField(
                blank=True,
                help_text="Apple: the signing certificate and the one above, PEM.",
                verbose_name="certificates",
            ),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="expires_at",
            field=core.moments.MomentField(
                blank=True,
                help_text="When the first of its certificates expires.",
                null=True,
                verbose_name="expires at",
            ),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="failed_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="failed at"),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="identifier",
            field=models.CharField(
                help_text="Apple: the pass type identifier. Google: the issuer id.",
                max_length=120,
                verbose_name="identifier",
            ),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="key_id",
            field=models.CharField(blank=True, max_length=64, verbose_name="key id"),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="last_error",
            field=models.TextField(blank=True, verbose_name="last error"),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="platform",
            field=models.CharField(
                choices=[("apple", "Apple Wallet"), ("google", "Google Wallet")], max_length=6, verbose_name="platform"
            ),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="private_key",
            field=core.encryption.EncryptedTextField(blank=True, verbose_name="private key"),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="push_key",
            field=core.encryption.EncryptedTextField(blank=True, verbose_name="push key"),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="push_key_id",
            field=models.CharField(blank=True, max_length=10, verbose_name="push key id"),
        ),
        migrations.AlterField(
            model_name="walletissuer",
            name="uploaded_at",
            field=core.moments.MomentField(default=django.utils.timezone.now, verbose_name="uploaded at"),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="wallet_passes",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="busy_until",
            field=core.moments.MomentField(
                blank=True, help_text="Until then, a worker is sending this pass.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="changed_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now,
                help_text="In whole seconds; no two versions have the same.",
                verbose_name="changed at",
            ),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="failed_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="failed at"),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="last_error",
            field=models.TextField(blank=True, verbose_name="last error"),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="notified_at",
            field=models.JSONField(
                default=list, help_text="Google: when customers were last notified.", verbose_name="notified at"
            ),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="platform",
            field=models.CharField(
                choices=[("apple", "Apple Wallet"), ("google", "Google Wallet")], max_length=6, verbose_name="platform"
            ),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="pushed_version",
            field=models.PositiveIntegerField(default=0, verbose_name="pushed version"),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="serial",
            field=models.UUIDField(default=uuid.uuid4, editable=False, unique=True, verbose_name="serial number"),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="state",
            field=models.CharField(
                choices=[("issued", "Issued"), ("held", "In a wallet"), ("removed", "Removed")],
                default="issued",
                max_length=8,
                verbose_name="state",
            ),
        ),
        migrations.AlterField(
            model_name="walletpass",
            name="version",
            field=models.PositiveIntegerField(default=1, verbose_name="version"),
        ),
        migrations.AlterField(
            model_name="webhookdelivery",
            name="attempts",
            field=models.PositiveIntegerField(default=0, verbose_name="attempts"),
        ),
        migrations.AlterField(
            model_name="webhookdelivery",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="webhookdelivery",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="webhookdelivery",
            name="finished_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="finished at"),
        ),
        migrations.AlterField(
            model_name="webhookdelivery",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "Waiting"),
                    ("delivered", "Delivered"),
                    ("failed", "Failed"),
                    ("dropped", "Not sent (webhook disabled or customer erased)"),
                ],
                default="waiting",
                max_length=10,
                verbose_name="state",
            ),
        ),
        migrations.AlterField(
            model_name="webhookendpoint",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="webhook_endpoints",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="webhookendpoint",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="webhookendpoint",
            name="description",
            field=models.CharField(blank=True, max_length=200, verbose_name="description"),
        ),
        migrations.AlterField(
            model_name="webhookendpoint",
            name="failing_since",
            field=core.moments.MomentField(
                blank=True,
                editable=False,
                help_text="The first failure since the last success.",
                null=True,
                verbose_name="failing since",
            ),
        ),
        migrations.AlterField(
            model_name="webhookendpoint",
            name="previous_secret_ends_at",
            field=core.moments.MomentField(
                blank=True, editable=False, null=True, verbose_name="previous secret ends at"
            ),
        ),
        migrations.AlterField(
            model_name="webhookendpoint",
            name="state",
            field=models.CharField(
                choices=[
                    ("active", "Active"),
                    ("disabled", "Disabled by staff"),
                    ("gone", "Disabled: the receiver answered 410 Gone"),
                    ("failing", "Disabled after repeated failures"),
                ],
                default="active",
                editable=False,
                max_length=10,
                verbose_name="state",
            ),
        ),
        migrations.AlterField(
            model_name="webhookendpoint",
            name="state_since",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="state since"
            ),
        ),
    ]
