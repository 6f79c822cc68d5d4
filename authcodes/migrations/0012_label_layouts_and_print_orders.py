"""Brands save how their labels look; print runs say by when they are needed, and when they were done."""

import django.db.models.deletion
from django.conf import settings
from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations, models

import core.moments


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0011_deliveries_to_shops"),
        ("brands", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        ValidateConstraint("codechange", "code_change_kind_known"),
        migrations.CreateModel(
            name="LabelLayout",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        help_text="A name that staff know, such as “Jar lids”.", max_length=60, verbose_name="name"
                    ),
                ),
                (
                    "label_width",
                    models.DecimalField(decimal_places=4, max_digits=8, verbose_name="label width in mm"),
                ),
                (
                    "label_height",
                    models.DecimalField(decimal_places=4, max_digits=8, verbose_name="label height in mm"),
                ),
                ("parts", models.JSONField(default=dict, editable=False, verbose_name="parts")),
                (
                    "note",
                    models.CharField(blank=True, default="", max_length=80, verbose_name="note on the label"),
                ),
                (
                    "is_default",
                    models.BooleanField(
                        default=False, help_text="New prints begin with it.", verbose_name="default"
                    ),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="label_layouts",
                        to="brands.brand",
                        verbose_name="brand",
                    ),
                ),
            ],
            options={
                "verbose_name": "label layout",
                "verbose_name_plural": "label layouts",
                "ordering": ["name", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=("brand", "name"), name="label_layout_name_unique_in_brand"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)),
                        fields=("brand",),
                        name="label_layout_default_once",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="printrun",
            name="due_on",
            field=core.moments.DayField(blank=True, help_text="For the print shop.", null=True, verbose_name="needed by"),
        ),
        migrations.AddField(
            model_name="printrun",
            name="order_note",
            field=models.CharField(
                blank=True,
                default="",
                db_default="",
                help_text="Not printed on labels.",
                max_length=200,
                verbose_name="note to the print shop",
            ),
        ),
        migrations.AddField(
            model_name="printrun",
            name="done_at",
            field=core.moments.MomentField(
                blank=True, help_text="When it was marked as done.", null=True, verbose_name="printed"
            ),
        ),
        migrations.AddField(
            model_name="printrun",
            name="done_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="marked as done by",
            ),
        ),
        migrations.AddField(
            model_name="printrun",
            name="request_key",
            field=models.UUIDField(editable=False, help_text="Of the page that asked for it, once.", null=True),
        ),
        migrations.AddConstraint(
            model_name="printrun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("request_key__isnull", False)),
                fields=("brand", "request_key"),
                name="print_run_once_per_request",
            ),
        ),
    ]
