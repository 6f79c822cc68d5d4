"""A quota of the members whom a brand may send broadcasts to in a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0011_birthday_points"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="brandquota",
            name="quota_resource_known",
        ),
        migrations.AlterField(
            model_name="brandquota",
            name="resource",
            field=models.CharField(
                choices=[
                    ("codes", "Codes"),
                    ("uploads", "Uploads a day"),
                    ("storage", "Storage in bytes"),
                    ("jobs", "Jobs a day"),
                    ("events", "Events a day"),
                    ("webhooks", "Webhook deliveries a day"),
                    ("mails", "E-mails a day"),
                    ("broadcasts", "Messages of broadcasts a day"),
                ],
                max_length=10,
                verbose_name="resource",
            ),
        ),
        migrations.AddConstraint(
            model_name="brandquota",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "resource__in",
                        ["codes", "uploads", "storage", "jobs", "events", "webhooks", "mails", "broadcasts"],
                    )
                ),
                name="quota_resource_known",
            ),
        ),
    ]
