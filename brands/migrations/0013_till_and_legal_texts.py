"""A brand's legal texts, and whether its tills look codes up without a connection."""

import core.moments
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0012_broadcast_quota"),
    ]

    operations = [
        migrations.AddField(
            model_name="brand",
            name="till_works_offline",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text=(
                    "Tills then keep digests of the newest codes with their rewards for up to 12 hours. They name no "
                    "customer, and nothing is handed over without a connection."
                ),
                verbose_name="till looks codes up without a connection",
            ),
        ),
        migrations.AddField(
            model_name="brand",
            name="has_legal_texts",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.CreateModel(
            name="LegalText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("terms", "Terms"), ("privacy", "Privacy notice"), ("consent", "Consent")],
                        help_text="A consent is the sentence next to the box that customers tick when they register.",
                        max_length=10,
                        verbose_name="kind",
                    ),
                ),
                (
                    "version",
                    models.PositiveIntegerField(
                        default=1,
                        help_text=(
                            "The same number for the same text in other languages. A higher number replaces the lower "
                            "ones."
                        ),
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="version",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        choices=[("en", "English"), ("de", "German"), ("ar", "Arabic")],
                        default="en",
                        max_length=2,
                        verbose_name="language",
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        help_text="Leave an empty line between paragraphs.", max_length=100000, verbose_name="text"
                    ),
                ),
                (
                    "valid_from",
                    core.moments.MomentField(
                        default=django.utils.timezone.now,
                        help_text="Customers are shown it from then on, and it can no longer be changed.",
                        verbose_name="in force from",
                    ),
                ),
                (
                    "brand",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="brands.brand",
                    ),
                ),
            ],
            options={
                "verbose_name": "legal text",
                "verbose_name_plural": "legal texts",
                "ordering": ["kind", "-version", "language", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("brand", "kind", "version", "language"),
                        name="legal_text_once",
                        violation_error_message=(
                            "There is such a text already. Enter a higher version for a new one."
                        ),
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["terms", "privacy", "consent"])),
                        name="legal_text_kind_known",
                    ),
                ],
            },
        ),
    ]
