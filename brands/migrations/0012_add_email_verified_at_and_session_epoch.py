"""Whether somebody has proved that an e-mail address is theirs, and a number that ends all of a user's sessions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("brands", "0011_points_ceiling_and_protection")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="email_verified_at",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Empty: nobody has proved it theirs.",
                null=True,
                verbose_name="address verified",
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="session_epoch",
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
    ]
