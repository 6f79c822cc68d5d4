"""Names that staff read of models and fields, in place of those that Django makes up."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import core.moments
import jobs.kinds
from core.db.names_only import NamesOnly


class Migration(NamesOnly):
    dependencies = [
        ("brands", "0016_names_for_people"),
        ("jobs", "0005_reports_as_pdf"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="job",
            options={"ordering": ["-id"], "verbose_name": "job", "verbose_name_plural": "jobs"},
        ),
        migrations.AlterField(
            model_name="job",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="jobs",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="created by",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="expires_at",
            field=core.moments.MomentField(
                blank=True, help_text="The file is deleted after this time.", null=True, verbose_name="expires at"
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="finished_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="finished at"),
        ),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(choices=jobs.kinds.choices, max_length=32, verbose_name="kind"),
        ),
        migrations.AlterField(
            model_name="job",
            name="result",
            field=models.FileField(blank=True, max_length=255, upload_to="jobs/%Y/%m/", verbose_name="result"),
        ),
        migrations.AlterField(
            model_name="job",
            name="started_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="started at"),
        ),
        migrations.AlterField(
            model_name="job",
            name="status",
            field=models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                default="queued",
                max_length=10,
                verbose_name="status",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="title",
            field=models.CharField(help_text="A short description.", max_length=200, verbose_name="title"),
        ),
    ]
