"""The scans of a batch or a product are found however few they are among the brand's."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0006_product_categories_and_tags"),
    ]

    operations = [
        migrations.AddIndex("scan", models.Index(fields=["batch", "-scanned_at"], name="scan_of_batch")),
        migrations.AddIndex("scan", models.Index(fields=["product", "-scanned_at"], name="scan_of_product")),
    ]
