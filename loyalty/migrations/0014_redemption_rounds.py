"""A milestone of a repeatable campaign gives its thing once in each round."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loyalty", "0013_segments"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="redemption",
            name="one_redemption_per_milestone",
        ),
        migrations.AddField(
            model_name="redemption",
            name="milestone_round",
            field=models.PositiveIntegerField(
                db_default=1, default=1, editable=False, help_text="The round of a repeatable campaign."
            ),
        ),
        migrations.AddConstraint(
            model_name="redemption",
            constraint=models.UniqueConstraint(
                condition=models.Q(("milestone_id__isnull", False)),
                fields=("user_point", "milestone_id", "milestone_round"),
                name="one_redemption_per_milestone_and_round",
            ),
        ),
    ]
