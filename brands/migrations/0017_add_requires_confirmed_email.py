"""A brand may ask for a confirmed e-mail address before points are earned."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("brands", "0016_bounds_of_dates_and_times")]

    operations = [
        migrations.AddField(
            model_name="brand",
            name="requires_confirmed_email",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Customers earn points only after they have confirmed their e-mail address. "
                "What they do before that waits for 30 days, and its points follow when they confirm.",
                verbose_name="confirmed e-mail address required",
            ),
        ),
    ]
