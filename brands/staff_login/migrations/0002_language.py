"""Mails to staff are in their receivers' languages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("staff_login", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="staffmail",
            name="language",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of the text. Without one, the language is decided when the mail is sent.",
                max_length=7,
                verbose_name="language",
            ),
        ),
        migrations.AlterField(
            model_name="staffmail",
            name="text",
            field=models.CharField(
                blank=True, help_text="In the receiver's language.", max_length=1000, verbose_name="text"
            ),
        ),
    ]
