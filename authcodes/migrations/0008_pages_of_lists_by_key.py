"""The indexes that lists of codes and scans are paged and filtered by."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0007_attempts_in_vain"),
    ]

    operations = [
        migrations.AlterField(
            model_name="authcode",
            name="batch",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="codes",
                to="authcodes.batchrange",
            ),
        ),
        migrations.AlterField(
            model_name="authcode",
            name="product",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="codes",
                to="authcodes.product",
            ),
        ),
        migrations.AddIndex(
            model_name="authcode",
            index=models.Index(
                fields=["brand", "id"], include=("batch", "product", "created_at"), name="auth_code_of_brand"
            ),
        ),
        migrations.AddIndex(
            model_name="authcode",
            index=models.Index(fields=["batch", "id"], include=("brand",), name="auth_code_of_batch"),
        ),
        migrations.AddIndex(
            model_name="authcode",
            index=models.Index(fields=["product", "id"], include=("brand",), name="auth_code_of_product"),
        ),
        migrations.RemoveIndex(
            model_name="scan",
            name="scan_of_brand",
        ),
        migrations.AddIndex(
            model_name="scan",
            index=models.Index(
                fields=["brand", "-scanned_at", "-scan_id"],
                include=("auth_code", "code", "batch", "product", "campaign", "outcome", "reason", "location"),
                name="scan_of_brand",
            ),
        ),
    ]
