"""Names a batch's name and a product's sale in words that the portal's pages use; the database stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("authcodes", "0003_error_values")]

    operations = [
        migrations.AlterField("batchrange", "range_name", models.CharField(max_length=120, verbose_name="batch name")),
        migrations.AlterField(
            "product",
            "is_active",
            models.BooleanField(
                default=True,
                help_text="Switch off for a product that is no longer sold. Its codes stay genuine, but scans earn no points.",
                verbose_name="on sale",
            ),
        ),
    ]
