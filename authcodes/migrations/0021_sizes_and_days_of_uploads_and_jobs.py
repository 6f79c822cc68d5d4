"""How large uploads and jobs' files are, and an index to count a brand's of a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("authcodes", "0020_history_forgets_persons")]

    operations = [
        migrations.AddField(
            model_name="import",
            name="file_bytes",
            field=models.PositiveBigIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="job",
            name="result_bytes",
            field=models.PositiveBigIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(fields=["brand", "uploaded_at"], name="import_of_brand_by_day"),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["brand", "created_at"], name="job_of_brand_by_day"),
        ),
    ]
