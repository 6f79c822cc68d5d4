"""Limits of what each brand may use of the installation."""

import django.db.models.deletion
from django.db import migrations, models

RESOURCES = [
    ("codes", "Codes"),
    ("uploads", "Uploads a day"),
    ("storage", "Storage in bytes"),
    ("jobs", "Jobs a day"),
    ("events", "Events a day"),
    ("webhooks", "Webhook messages a day"),
    ("mails", "Mails a day"),
]


class Migration(migrations.Migration):
    dependencies = [("brands", "0013_currency_of_a_brand")]

    operations = [
        migrations.CreateModel(
            name="BrandQuota",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("resource", models.CharField(choices=RESOURCES, max_length=10)),
                (
                    "limit",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Empty: the installation's default. 0: unlimited. Days are UTC.",
                        null=True,
                    ),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="quotas", to="brands.brand"
                    ),
                ),
            ],
            options={
                "verbose_name": "quota",
                "verbose_name_plural": "quotas",
                "ordering": ["brand", "resource"],
                "constraints": [
                    models.UniqueConstraint(fields=("brand", "resource"), name="quota_of_a_brand_once"),
                    models.CheckConstraint(
                        condition=models.Q(("resource__in", [name for name, _label in RESOURCES])),
                        name="quota_resource_known",
                    ),
                ],
            },
        )
    ]
