"""Undoing an import is a job: a state while it runs, and its kind."""

from django.db import migrations, models
from django.db.models import Q

STATES = {
    "checking": "Being checked",
    "refused": "Refused: the file cannot be read",
    "checked": "Checked: look at the preview",
    "committing": "Being committed",
    "committed": "Committed",
    "undoing": "Being undone",
    "undone": "Undone",
    "discarded": "Discarded",
}


class Migration(migrations.Migration):
    dependencies = [("authcodes", "0008_pages_of_lists_by_key")]

    operations = [
        migrations.RemoveConstraint("Import", "import_status_known"),
        migrations.AlterField(
            model_name="import",
            name="status",
            field=models.CharField(choices=list(STATES.items()), default="checking", max_length=10),
        ),
        migrations.AddConstraint(
            "Import", models.CheckConstraint(condition=Q(status__in=list(STATES)), name="import_status_known")
        ),
        migrations.AlterField(
            model_name="import",
            name="file",
            field=models.FileField(
                help_text="Deleted with its rows some weeks after the import ended.",
                max_length=255,
                upload_to="imports/%Y/%m/",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("generate", "Generate codes"),
                    ("change-codes", "Change many codes"),
                    ("check-import", "Check an import"),
                    ("commit-import", "Commit an import"),
                    ("undo-import", "Undo an import"),
                    ("export-scans", "Export the scan report"),
                    ("export-unscanned", "Export unscanned codes"),
                    ("export-affected", "Export customers affected by a recall"),
                ],
                max_length=32,
            ),
        ),
    ]
