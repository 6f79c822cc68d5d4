"""Domains that brands have proven to be theirs, to send mail from."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0009_refresh_tokens_answered_again"),
        ("loyalty", "0022_crashes_of_events"),
    ]

    operations = [
        migrations.CreateModel(
            name="SenderDomain",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("domain", models.CharField(help_text="Such as example.com.", max_length=253)),
                ("token", models.CharField(editable=False, max_length=32)),
                ("verified_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("missing_since", models.DateTimeField(blank=True, editable=False, null=True)),
                ("checked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("last_error", models.CharField(blank=True, editable=False, max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="brands.brand",
                    ),
                ),
            ],
            options={
                "verbose_name": "sender domain",
                "verbose_name_plural": "sender domains",
                "ordering": ["domain", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=("brand", "domain"), name="sender_domain_once_per_brand"),
                ],
            },
        ),
        migrations.AlterField(
            model_name='noticesettings',
            name='sender_address',
            field=models.EmailField(blank=True, help_text="Used once its domain is proven under Sender domains; until then the installation's address sends, and answers go to this one. This installation's mail server must be allowed to send for it (SPF, DKIM).", max_length=254),
        ),
        migrations.AlterField(
            model_name='noticesettings',
            name='sender_name',
            field=models.CharField(blank=True, help_text="Beside a proven sender address. Empty: the brand's name.", max_length=120),
        ),
    ]
