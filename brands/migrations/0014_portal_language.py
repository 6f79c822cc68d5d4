"""The language in which a member of staff reads the portal."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0013_till_and_legal_texts"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="portal_language",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                max_length=7,
                verbose_name="language of the portal",
            ),
        ),
    ]
