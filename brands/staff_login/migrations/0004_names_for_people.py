"""Names that staff read of models and fields, in place of those that Django makes up."""

from django.db import migrations, models

from core.db.names_only import NamesOnly


class Migration(NamesOnly):
    dependencies = [
        ("staff_login", "0003_budget_mails"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="signinsettings",
            options={"ordering": ["brand_id"], "verbose_name": "staff login", "verbose_name_plural": "staff login"},
        ),
        migrations.AlterField(
            model_name="signinsettings",
            name="oidc_active",
            field=models.BooleanField(
                default=False,
                help_text="Staff may also log in through the identity provider, and then see this brand only.",
                verbose_name="identity provider active",
            ),
        ),
    ]
