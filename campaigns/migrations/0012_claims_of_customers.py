"""The rewards that a customer reached are found in their order: their key replaces the index of the customer alone."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0011_rewards_of_the_catalogue"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex("rewardclaim", models.Index(fields=["user", "-id"], name="claims_of_customer")),
        migrations.AlterField(
            model_name="rewardclaim",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reward_claims",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
