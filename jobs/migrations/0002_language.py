"""Jobs say what they say in the language of whoever started them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="language",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="Of the person who started it, and so of its messages. English if empty.",
                max_length=7,
                verbose_name="language",
            ),
        ),
    ]
