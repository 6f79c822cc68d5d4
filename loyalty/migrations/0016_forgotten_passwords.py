"""A notice more: the link with which a customer sets a new password."""

from django.db import migrations, models

TEMPLATES = [
    ("NOTIFY_CAMPAIGN_SUCCESS", "Points earned"),
    ("NOTIFY_LEVEL_REACHED", "Level reached"),
    ("NOTIFY_REWARD_AVAILABLE", "Reward available"),
    ("NOTIFY_POINTS_EXPIRING", "Points expire soon"),
    ("NOTIFY_RECALL", "Product recall"),
    ("NOTIFY_PASSWORD_FORGOTTEN", "Forgotten password"),
]


class Migration(migrations.Migration):
    dependencies = [("loyalty", "0015_whom_webhook_messages_are_about")]

    operations = [
        *(
            migrations.AlterField(
                model_name=name,
                name="template",
                field=models.CharField(choices=TEMPLATES, max_length=32, verbose_name="notice"),
            )
            for name in ("notice", "noticedelivery", "noticetemplate")
        ),
        migrations.AlterField(
            model_name="noticesettings",
            name="is_active",
            field=models.BooleanField(
                default=True,
                help_text="Off: nothing is sent but recalls and links to set a new password, which go by e-mail.",
                verbose_name="send notifications",
            ),
        ),
    ]
