"""Segments of members, and who is in them."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.moments


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0008_order_points_and_returns"),
        ("loyalty", "0012_point_transfers"),
    ]

    operations = [
        migrations.CreateModel(
            name="Segment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80)),
                ("conditions", models.JSONField(blank=True, db_default={}, default=dict)),
                ("member_count", models.PositiveIntegerField(editable=False, null=True, verbose_name="members")),
                ("evaluated_at", core.moments.MomentField(editable=False, null=True, verbose_name="evaluated")),
                ("fully_evaluated_at", core.moments.MomentField(editable=False, null=True)),
                (
                    "tried_at",
                    core.moments.MomentField(
                        editable=False, help_text="When an evaluation began, whatever came of it.", null=True
                    ),
                ),
                ("definition", models.CharField(db_default="", default="", editable=False, max_length=64)),
                ("created_at", core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="segments",
                        to="brands.brand",
                    ),
                ),
            ],
            options={
                "verbose_name": "segment",
                "verbose_name_plural": "segments",
                "ordering": ["brand_id", "name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("brand", "name"),
                        name="segment_name_unique_in_brand",
                        violation_error_message="A segment with this name already exists.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SegmentMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("since", core.moments.MomentField(default=django.utils.timezone.now)),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="in_segments",
                        to="loyalty.userpoints",
                    ),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="brands.brand",
                    ),
                ),
                (
                    "segment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to="loyalty.segment",
                    ),
                ),
            ],
            options={
                "verbose_name": "segment's member",
                "verbose_name_plural": "segments' members",
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("segment", "account"), name="member_once_in_segment")
                ],
            },
        ),
        migrations.AddField(
            model_name="reward",
            name="segment",
            field=models.ForeignKey(
                blank=True,
                help_text="Only for members of this segment; nobody else sees the reward. Leave empty for all members.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rewards",
                to="loyalty.segment",
            ),
        ),
    ]
