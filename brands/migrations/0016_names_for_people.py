"""Names that staff read of models and fields, in place of those that Django makes up."""

import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import brands.models.brand_fields
import core.moments
from core.db.names_only import NamesOnly


class Migration(NamesOnly):
    dependencies = [
        ("brands", "0015_undo_offers"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="apikey",
            options={"ordering": ["-created_at", "-id"], "verbose_name": "API key", "verbose_name_plural": "API keys"},
        ),
        migrations.AlterModelOptions(
            name="brand",
            options={"ordering": ["name", "id"], "verbose_name": "brand", "verbose_name_plural": "brands"},
        ),
        migrations.AlterModelOptions(
            name="brandhostname",
            options={"ordering": ["hostname"], "verbose_name": "hostname", "verbose_name_plural": "hostnames"},
        ),
        migrations.AlterModelOptions(
            name="staffrole",
            options={
                "ordering": ["brand_id", "user_id"],
                "verbose_name": "staff role",
                "verbose_name_plural": "staff roles",
            },
        ),
        migrations.AlterModelOptions(
            name="user",
            options={"ordering": ["email"], "verbose_name": "user", "verbose_name_plural": "users"},
        ),
        migrations.AlterField(
            model_name="apikey",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="api_keys",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="expires_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="expires at"),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="kind",
            field=models.CharField(
                choices=[("hub", "Hub (secret, server to server)"), ("app", "App (publishable, shipped in an app)")],
                max_length=3,
                verbose_name="kind",
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="last_used_at",
            field=core.moments.MomentField(blank=True, editable=False, null=True, verbose_name="last used at"),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="name",
            field=models.CharField(max_length=120, verbose_name="name"),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="prefix",
            field=models.CharField(
                editable=False, help_text="The visible start of the key.", max_length=16, verbose_name="prefix"
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="revoked_at",
            field=core.moments.MomentField(blank=True, editable=False, null=True, verbose_name="revoked at"),
        ),
        migrations.AlterField(
            model_name="auditlogentry",
            name="action",
            field=models.CharField(max_length=200, verbose_name="action"),
        ),
        migrations.AlterField(
            model_name="auditlogentry",
            name="brand",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="audit_entries",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="auditlogentry",
            name="changes",
            field=models.JSONField(
                default=dict,
                encoder=django.core.serializers.json.DjangoJSONEncoder,
                help_text="Of each changed field the value before and after.",
                verbose_name="changes",
            ),
        ),
        migrations.AlterField(
            model_name="auditlogentry",
            name="kind",
            field=models.CharField(help_text="The changed row's model: app.model", max_length=100, verbose_name="kind"),
        ),
        migrations.AlterField(
            model_name="auditlogentry",
            name="reason",
            field=models.TextField(blank=True, verbose_name="reason"),
        ),
        migrations.AlterField(
            model_name="auditlogentry",
            name="row_id",
            field=models.CharField(max_length=64, verbose_name="row id"),
        ),
        migrations.AlterField(
            model_name="brand",
            name="auto_enroll",
            field=models.BooleanField(
                default=True,
                help_text="Enrol customers automatically at their first qualifying action.",
                verbose_name="automatic enrolment",
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="daily_point_limit",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                max_digits=10,
                null=True,
                validators=[django.core.validators.MinValueValidator(0)],
                verbose_name="daily point limit",
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="expiry_warning_days",
            field=models.PositiveIntegerField(
                db_default=14,
                default=14,
                help_text="Days before expiry on which members are notified. Enter 0 to send no notification.",
                validators=[django.core.validators.MaxValueValidator(90)],
                verbose_name="expiry warning days",
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="loyalty_active",
            field=models.BooleanField(
                default=True,
                help_text="If unticked, codes can still be scanned but nothing earns points.",
                verbose_name="loyalty programme active",
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="monthly_point_limit",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                max_digits=10,
                null=True,
                validators=[django.core.validators.MinValueValidator(0)],
                verbose_name="monthly point limit",
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="name",
            field=models.CharField(max_length=120, verbose_name="name"),
        ),
        migrations.AlterField(
            model_name="brand",
            name="points_expire",
            field=models.CharField(
                choices=[
                    ("never", "Never"),
                    ("days", "A number of days after they were earned"),
                    ("months", "A number of months after they were earned"),
                    ("month_end", "At the end of a month"),
                    ("year_end", "At the end of a year"),
                ],
                db_default="never",
                default="never",
                max_length=10,
                verbose_name="points expire",
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="points_expire_after",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="Number of days or months. For the end of a month or year: how many months or years after earning.",
                verbose_name="points expire after",
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="slug",
            field=models.SlugField(max_length=60, unique=True, verbose_name="slug"),
        ),
        migrations.AlterField(
            model_name="brand",
            name="support_email",
            field=models.EmailField(
                help_text="Shown to customers whose code is not recognised.",
                max_length=254,
                verbose_name="support e-mail address",
            ),
        ),
        migrations.AlterField(
            model_name="brand",
            name="time_zone",
            field=models.CharField(
                default="UTC",
                max_length=64,
                validators=[brands.models.brand_fields.validate_time_zone],
                verbose_name="time zone",
            ),
        ),
        migrations.AlterField(
            model_name="brandhostname",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="hostnames",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="brandhostname",
            name="hostname",
            field=models.CharField(
                max_length=253,
                unique=True,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\\d{1,5})?$", "Enter the hostname in lowercase."
                    )
                ],
                verbose_name="hostname",
            ),
        ),
        migrations.AlterField(
            model_name="brandhostname",
            name="is_primary",
            field=models.BooleanField(
                default=False, help_text="The hostname that new QR codes are printed with.", verbose_name="primary"
            ),
        ),
        migrations.AlterField(
            model_name="brandquota",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="quotas",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="legaltext",
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
            model_name="staffrole",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="staff_roles",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="staffrole",
            name="role",
            field=models.CharField(
                choices=[
                    ("owner", "Owner"),
                    ("manager", "Manager"),
                    ("printer", "Printer (codes and print)"),
                    ("support", "Support (read and search)"),
                ],
                max_length=10,
                verbose_name="role",
            ),
        ),
        migrations.AlterField(
            model_name="staffrole",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="staff_roles",
                to=settings.AUTH_USER_MODEL,
                verbose_name="user",
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="date_joined",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="date joined"
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="email",
            field=models.EmailField(
                error_messages={"unique": "This e-mail address is taken."},
                max_length=254,
                unique=True,
                verbose_name="e-mail address",
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="first_name",
            field=models.CharField(blank=True, max_length=150, verbose_name="first name"),
        ),
        migrations.AlterField(
            model_name="user",
            name="is_active",
            field=models.BooleanField(
                default=True, help_text="Untick to block this account from the next request on.", verbose_name="active"
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="is_staff",
            field=models.BooleanField(
                default=False, help_text="May log in to the portal.", verbose_name="works for a brand"
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="last_name",
            field=models.CharField(blank=True, max_length=150, verbose_name="last name"),
        ),
        migrations.AlterField(
            model_name="user",
            name="registered_brand",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="registered_users",
                to="brands.brand",
                verbose_name="registered brand",
            ),
        ),
    ]
