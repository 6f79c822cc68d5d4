"""A session knows the refresh token before the newest, which gets the newest again for a moment."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("brands", "0008_audit_trail_forgets_persons")]

    operations = [
        migrations.AddField(
            model_name="loginsession",
            name="previous_jti",
            field=models.CharField(blank=True, default="", db_default="", max_length=64),
        ),
        migrations.AddField(
            model_name="loginsession",
            name="rotated_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
