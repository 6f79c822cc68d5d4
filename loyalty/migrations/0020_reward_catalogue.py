"""Rewards have pictures, need no price where they are only won, and count what milestones give of them."""

from decimal import Decimal

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0012_broadcast_quota"),
        ("loyalty", "0019_enrolments_by_day"),
    ]

    operations = [
        migrations.AddField(
            model_name="reward",
            name="picture",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="brands.picture",
                verbose_name="picture",
            ),
        ),
        migrations.AlterField(
            model_name="reward",
            name="cost",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="In points. Leave empty for a reward that is not for sale, and is only won in campaigns.",
                max_digits=10,
                null=True,
                validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
            ),
        ),
        migrations.RemoveConstraint(
            model_name="reward",
            name="reward_costs_something",
        ),
        migrations.AddConstraint(
            model_name="reward",
            constraint=models.CheckConstraint(
                condition=models.Q(("cost__isnull", True), ("cost__gt", 0), _connector="OR"),
                name="reward_costs_something",
            ),
        ),
        migrations.RemoveConstraint(
            model_name="redemption",
            name="redemption_of_a_reward_or_a_milestone",
        ),
        migrations.AddConstraint(
            model_name="redemption",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("cost__gt", 0), ("milestone_id__isnull", True), ("reward__isnull", False)),
                    models.Q(("cost", 0), ("milestone_id__isnull", False)),
                    _connector="OR",
                ),
                name="redemption_of_a_reward_or_a_milestone",
            ),
        ),
    ]
