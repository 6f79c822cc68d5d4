"""Adds the index by which a recall finds the products in a batch."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # codes are scanned and made while it grows

    dependencies = [("authcodes", "0003_error_values")]

    operations = [
        AddIndexConcurrently(
            model_name="authcode",
            index=models.Index(
                fields=["batch", "product"],
                name="auth_code_product_in_batch",
                condition=models.Q(product__isnull=False),
            ),
        ),
    ]
