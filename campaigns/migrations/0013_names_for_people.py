"""Names that staff read of models and fields, in place of those that Django makes up."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import campaigns.models.event_kinds
import core.moments
from core.db.names_only import NamesOnly


class Migration(NamesOnly):
    dependencies = [
        ("brands", "0016_names_for_people"),
        ("campaigns", "0012_claims_of_customers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="campaign",
            options={"ordering": ["-campaign_id"], "verbose_name": "campaign", "verbose_name_plural": "campaigns"},
        ),
        migrations.AlterModelOptions(
            name="earningrule",
            options={
                "ordering": ["brand_id", "kind", "-priority", "id"],
                "verbose_name": "earning rule",
                "verbose_name_plural": "earning rules",
            },
        ),
        migrations.AlterModelOptions(
            name="eventkind",
            options={
                "ordering": ["brand_id", "name"],
                "verbose_name": "event kind",
                "verbose_name_plural": "event kinds",
            },
        ),
        migrations.AlterModelOptions(
            name="eventkindfield",
            options={
                "ordering": ["kind_id", "id"],
                "verbose_name": "field",
                "verbose_name_plural": "fields of the payload",
            },
        ),
        migrations.AlterModelOptions(
            name="milestone",
            options={
                "ordering": ["campaign_id", "threshold"],
                "verbose_name": "milestone",
                "verbose_name_plural": "milestones",
            },
        ),
        migrations.AlterModelOptions(
            name="rewardclaim",
            options={
                "ordering": ["-created_at", "-id"],
                "verbose_name": "reward claim",
                "verbose_name_plural": "reward claims",
            },
        ),
        migrations.AlterField(
            model_name="campaign",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="campaigns",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="campaign_name",
            field=models.CharField(max_length=120, verbose_name="campaign name"),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="conditions",
            field=models.JSONField(blank=True, db_default={}, default=dict, verbose_name="conditions"),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="ends_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="ends at"),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="is_active",
            field=models.BooleanField(default=True, verbose_name="active"),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="starts_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="starts at"),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="target_value",
            field=models.PositiveIntegerField(
                help_text="The goal, for example a count of scans.",
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="target value",
            ),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="type",
            field=models.CharField(
                choices=[
                    ("authenticator_scan", "Product scans"),
                    ("order", "Orders"),
                    ("profile", "Profile changes"),
                    ("login", "Logins"),
                ],
                default="authenticator_scan",
                max_length=32,
                verbose_name="type",
            ),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="brand",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="earning_rules",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="conditions",
            field=models.JSONField(blank=True, db_default={}, default=dict, verbose_name="conditions"),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="ends_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="ends at"),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="group",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Rules that exclude each other share a group. “level” is the group of the level's points.",
                max_length=40,
                verbose_name="group",
            ),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="limits",
            field=models.JSONField(blank=True, db_default=[], default=list, verbose_name="limits"),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="name",
            field=models.CharField(
                blank=True,
                help_text="Shown to customers next to their points. Leave empty to name the rule after its kind.",
                max_length=120,
                verbose_name="name",
            ),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="priority",
            field=models.PositiveSmallIntegerField(
                db_default=100,
                default=100,
                help_text="Higher ones count first where the order matters.",
                verbose_name="priority",
            ),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="stacking",
            field=models.CharField(
                choices=[
                    ("add", "Adds to other rules"),
                    ("multiply", "Multiplies the result of other multipliers"),
                    ("best", "Only the best rule of its group counts"),
                ],
                db_default="add",
                default="add",
                max_length=8,
                verbose_name="stacking",
            ),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="starts_at",
            field=core.moments.MomentField(blank=True, null=True, verbose_name="starts at"),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="state",
            field=models.CharField(
                choices=[("draft", "Draft"), ("active", "Active"), ("paused", "Paused"), ("ended", "Ended")],
                db_default="active",
                default="active",
                max_length=8,
                verbose_name="state",
            ),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="state_changed_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="state changed at"
            ),
        ),
        migrations.AlterField(
            model_name="earningrule",
            name="state_changed_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="state changed by",
            ),
        ),
        migrations.AlterField(
            model_name="eventkind",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="event_kinds",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="eventkind",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="eventkind",
            name="name",
            field=models.CharField(
                help_text="The event's detail-type, such as store-visit. It never changes.",
                max_length=60,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[a-z][a-z0-9]*(-[a-z0-9]+)*\\Z",
                        "Use lower-case letters and digits with hyphens between, such as store-visit.",
                    ),
                    campaigns.models.event_kinds.validate_kind_name,
                ],
                verbose_name="name",
            ),
        ),
        migrations.AlterField(
            model_name="eventkind",
            name="title",
            field=models.CharField(
                help_text="Shown to customers next to their points.", max_length=80, verbose_name="title"
            ),
        ),
        migrations.AlterField(
            model_name="eventkindfield",
            name="kind",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="fields",
                to="campaigns.eventkind",
                verbose_name="kind",
            ),
        ),
        migrations.AlterField(
            model_name="eventkindfield",
            name="label",
            field=models.CharField(max_length=80, verbose_name="label"),
        ),
        migrations.AlterField(
            model_name="eventkindfield",
            name="name",
            field=models.CharField(
                max_length=40,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[a-z][a-z0-9_]*\\Z", "Use lower-case letters, digits and underscores, such as visit_minutes."
                    ),
                    campaigns.models.event_kinds.validate_field_name,
                ],
                verbose_name="name",
            ),
        ),
        migrations.AlterField(
            model_name="eventkindfield",
            name="options",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=80),
                blank=True,
                db_default=[],
                default=list,
                size=100,
                verbose_name="options",
            ),
        ),
        migrations.AlterField(
            model_name="eventkindfield",
            name="required",
            field=models.BooleanField(default=False, verbose_name="required"),
        ),
        migrations.AlterField(
            model_name="eventkindfield",
            name="type",
            field=models.CharField(
                choices=[
                    ("text", "Text"),
                    ("whole", "Whole number"),
                    ("decimal", "Decimal number"),
                    ("switch", "Yes or no"),
                    ("date", "Date"),
                    ("time", "Time of day"),
                    ("product", "Product"),
                    ("option", "One of a list"),
                ],
                default="text",
                max_length=8,
                verbose_name="type",
            ),
        ),
        migrations.AlterField(
            model_name="milestone",
            name="auto_claim",
            field=models.BooleanField(
                default=True,
                help_text="If ticked, points are credited or a code is issued at once. If not, the customer claims the reward.",
                verbose_name="given at once",
            ),
        ),
        migrations.AlterField(
            model_name="milestone",
            name="campaign",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="milestones",
                to="campaigns.campaign",
                verbose_name="campaign",
            ),
        ),
        migrations.AlterField(
            model_name="milestone",
            name="reward_name",
            field=models.CharField(
                help_text="What it gives. A reward of the catalogue brings its own name.",
                max_length=120,
                verbose_name="reward name",
            ),
        ),
        migrations.AlterField(
            model_name="milestone",
            name="reward_points",
            field=models.DecimalField(
                decimal_places=2,
                default=0,
                help_text="Points that it pays.",
                max_digits=10,
                validators=[django.core.validators.MinValueValidator(0)],
                verbose_name="reward points",
            ),
        ),
        migrations.AlterField(
            model_name="milestone",
            name="threshold",
            field=models.PositiveIntegerField(
                help_text="The progress at which it is reached.",
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="threshold",
            ),
        ),
        migrations.AlterField(
            model_name="replay",
            name="brand",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="brands.brand",
                verbose_name="brand",
            ),
        ),
        migrations.AlterField(
            model_name="rewardclaim",
            name="claimed_at",
            field=core.moments.MomentField(blank=True, editable=False, null=True, verbose_name="claimed at"),
        ),
        migrations.AlterField(
            model_name="rewardclaim",
            name="created_at",
            field=core.moments.MomentField(
                default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="rewardclaim",
            name="milestone",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="claims",
                to="campaigns.milestone",
                verbose_name="milestone",
            ),
        ),
        migrations.AlterField(
            model_name="rewardclaim",
            name="status",
            field=models.CharField(
                choices=[("available", "Available"), ("claimed", "Claimed")],
                default="available",
                max_length=10,
                verbose_name="status",
            ),
        ),
        migrations.AlterField(
            model_name="rewardclaim",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reward_claims",
                to=settings.AUTH_USER_MODEL,
                verbose_name="customer",
            ),
        ),
        migrations.AlterField(
            model_name="userloyaltycampaign",
            name="campaign",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="progress_rows",
                to="campaigns.campaign",
                verbose_name="campaign",
            ),
        ),
        migrations.AlterField(
            model_name="userloyaltycampaign",
            name="created_at",
            field=core.moments.MomentField(
                db_column="createdAt", default=django.utils.timezone.now, editable=False, verbose_name="created at"
            ),
        ),
        migrations.AlterField(
            model_name="userloyaltycampaign",
            name="progress",
            field=models.DecimalField(decimal_places=2, default=1, max_digits=12, verbose_name="progress"),
        ),
        migrations.AlterField(
            model_name="userloyaltycampaign",
            name="updated_at",
            field=core.moments.MomentField(
                db_column="updatedAt", default=django.utils.timezone.now, editable=False, verbose_name="updated at"
            ),
        ),
        migrations.AlterField(
            model_name="userloyaltycampaign",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="campaign_progress",
                to=settings.AUTH_USER_MODEL,
                verbose_name="customer",
            ),
        ),
    ]
