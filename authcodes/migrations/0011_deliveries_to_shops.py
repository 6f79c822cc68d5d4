"""Staff note which codes are in the shops, as two more kinds of changes of codes."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

KINDS = [
    ("generated", "Generated"),
    ("assigned", "Assigned"),
    ("unassigned", "Unassigned"),
    ("imported", "Assigned by import"),
    ("import_undone", "Import undone"),
    ("deactivated", "Deactivated"),
    ("reactivated", "Reactivated"),
    ("recalled", "Recalled"),
    ("recall_withdrawn", "Recall withdrawn"),
    ("edited", "Edited"),
    ("printed", "Printed elsewhere"),
    ("delivered", "Delivered to shops"),
    ("delivery_undone", "Delivery undone"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0010_scans_of_customers"),
    ]

    operations = [
        migrations.AlterField("codechange", "kind", models.CharField(choices=KINDS, max_length=16)),
        migrations.RemoveConstraint("codechange", "code_change_kind_known"),
        # Checked in the next migration: what is there fits, and nobody waits while it is read.
        AddConstraintNotValid(
            "codechange",
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind for kind, _label in KINDS]), name="code_change_kind_known"
            ),
        ),
    ]
