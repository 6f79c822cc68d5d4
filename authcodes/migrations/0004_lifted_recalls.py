import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("authcodes", "0003_jobs_and_imports"),
    ]

    operations = [
        migrations.CreateModel(
            name="LiftedRecall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("recall_id", models.CharField(max_length=64)),
                ("contact", models.CharField(max_length=200)),
                ("message", models.TextField()),
                ("reason", models.TextField()),
                ("recalled_at", models.DateTimeField()),
                ("lifted_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("lift_reason", models.TextField()),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="lifted_recalls",
                        to="authcodes.batchrange",
                    ),
                ),
                (
                    "lifted_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "recalled_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["-lifted_at", "-id"]},
        ),
    ]
