"""An index for what somebody handed over at the till, and which texts of a brand a customer agreed to."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0013_till_and_legal_texts"),
        ("loyalty", "0021_member_notes_and_lists"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="redemption",
            index=models.Index(
                condition=models.Q(("used_by__isnull", False)), fields=["used_by", "used_at"], name="hand_overs"
            ),
        ),
        *(
            migrations.AddField(
                model_name=model,
                name="legal_texts",
                field=django.contrib.postgres.fields.ArrayField(
                    base_field=models.BigIntegerField(),
                    blank=True,
                    db_default=[],
                    default=list,
                    size=None,
                    verbose_name="legal texts",
                ),
            )
            for model in ("consent", "emailconfirmation")
        ),
    ]
