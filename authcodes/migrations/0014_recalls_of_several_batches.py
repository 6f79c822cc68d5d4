"""A recall has several batches, or a part of one; pieces that came back are counted."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

import core.moments
import core.translations

# The constraints of what was written are checked now: a table cannot be altered while they wait.
FILL = """
UPDATE authcodes_recall r SET brand_id = b.brand_id FROM authcodes_batchrange b WHERE b.id = r.batch_id;
UPDATE authcodes_batchrange b SET recall_id = r.id, recalled_at = r.recalled_at
  FROM authcodes_recall r WHERE r.batch_id = b.id;
UPDATE authcodes_withdrawnrecall w SET brand_id = b.brand_id FROM authcodes_batchrange b WHERE b.id = w.batch_id;
INSERT INTO authcodes_withdrawnbatch (withdrawn_recall_id, batch_id, recalled_from, recalled_to)
SELECT id, batch_id, '', '' FROM authcodes_withdrawnrecall ORDER BY id;
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
"""
NO_LONGER_FILLED = """
ALTER TABLE authcodes_recall ALTER COLUMN batch_id DROP NOT NULL;
ALTER TABLE authcodes_withdrawnrecall ALTER COLUMN batch_id DROP NOT NULL;
"""
# A change passes only where an erased person's name is replaced in a note.
RETURNS_ARE_APPEND_ONLY = """
CREATE OR REPLACE FUNCTION refuse_recall_return_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('codes.erasing', true) = 'on' THEN
        IF to_jsonb(OLD) - 'note' = to_jsonb(NEW) - 'note' THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'authcodes_recallreturn is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER recall_return_is_append_only BEFORE UPDATE OR DELETE ON authcodes_recallreturn
    FOR EACH ROW EXECUTE FUNCTION refuse_recall_return_change();
CREATE TRIGGER recall_return_not_truncated BEFORE TRUNCATE ON authcodes_recallreturn
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_recall_return_change();
"""
NOT_BACK = "DROP FUNCTION refuse_recall_return_change() CASCADE"


def code_field(name, **more):
    return models.CharField(blank=True, db_collation="C", max_length=64, verbose_name=name, **more)


def brand_field(name, **more):
    return models.ForeignKey(
        on_delete=django.db.models.deletion.PROTECT,
        related_name=name,
        to="brands.brand",
        verbose_name="brand",
        **more,
    )


def translations():
    return core.translations.TranslationsField(
        blank=True, db_default={}, default=dict, editable=False, of=("message",), verbose_name="translations"
    )


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0013_names_for_people"),
        ("brands", "0016_names_for_people"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("recall", "brand", brand_field("recalls", null=True)),
        migrations.AddField("withdrawnrecall", "brand", brand_field("withdrawn_recalls", null=True)),
        *(
            operation
            for model, more in (("recall", {"help_text": "What the customer should do."}), ("withdrawnrecall", {}))
            for operation in (
                migrations.AlterField(model, "message", models.TextField(max_length=5000, verbose_name="message", **more)),
                migrations.AddField(model, "translations", translations()),
            )
        ),
        migrations.AddField("withdrawnrecall", "former_id", models.BigIntegerField(editable=False, null=True)),
        migrations.AddField(
            "batchrange",
            "recall",
            models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="batches",
                to="authcodes.recall",
                verbose_name="recall",
            ),
        ),
        migrations.AddField(
            "batchrange",
            "recalled_at",
            core.moments.MomentField(editable=False, null=True, verbose_name="recalled at"),
        ),
        *(
            migrations.AddField("batchrange", name, code_field(label, default="", db_default="", editable=False))
            for name, label in (("recalled_from", "recalled from"), ("recalled_to", "recalled to"))
        ),
        migrations.CreateModel(
            name="WithdrawnBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("recalled_from", code_field("recalled from")),
                ("recalled_to", code_field("recalled to")),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="authcodes.batchrange",
                        verbose_name="batch",
                    ),
                ),
                (
                    "withdrawn_recall",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="batches",
                        to="authcodes.withdrawnrecall",
                        verbose_name="withdrawn recall",
                    ),
                ),
            ],
            options={
                "verbose_name": "batch of a withdrawn recall",
                "verbose_name_plural": "batches of withdrawn recalls",
                "ordering": ["id"],
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        # Processes of the release before still read these columns until they are restarted; the next one drops them.
        migrations.RunSQL(NO_LONGER_FILLED, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("recall", "batch"),
                migrations.RemoveField("withdrawnrecall", "batch"),
            ]
        ),
        migrations.AlterField(
            "withdrawnbatch",
            "batch",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="withdrawn_recalls",
                to="authcodes.batchrange",
                verbose_name="batch",
            ),
        ),
        migrations.AlterField("recall", "brand", brand_field("recalls")),
        migrations.AlterField("withdrawnrecall", "brand", brand_field("withdrawn_recalls")),
        migrations.CreateModel(
            name="RecallReturn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "pieces",
                    models.IntegerField(
                        validators=[
                            django.core.validators.MinValueValidator(-10000000),
                            django.core.validators.MaxValueValidator(10000000),
                        ],
                        verbose_name="pieces",
                    ),
                ),
                ("returned_on", core.moments.DayField(verbose_name="returned on")),
                ("note", models.CharField(blank=True, max_length=500, verbose_name="note")),
                (
                    "entered_at",
                    core.moments.MomentField(
                        default=django.utils.timezone.now, editable=False, verbose_name="entered at"
                    ),
                ),
                ("form_id", models.UUIDField(editable=False)),
                ("brand", brand_field("+", db_index=False)),
                (
                    "entered_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="entered by",
                    ),
                ),
                (
                    "recall",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="returns",
                        to="authcodes.recall",
                        verbose_name="recall",
                    ),
                ),
            ],
            options={
                "verbose_name": "return of a recall",
                "verbose_name_plural": "returns of recalls",
                "ordering": ["-id"],
            },
        ),
        migrations.AddIndex("recallreturn", models.Index(fields=["recall", "-id"], name="returns_of_recall")),
        migrations.AddConstraint(
            "recallreturn", models.UniqueConstraint(fields=("brand", "form_id"), name="recall_return_entered_once")
        ),
        migrations.AddConstraint(
            "recallreturn", models.CheckConstraint(condition=~Q(pieces=0), name="recall_return_is_something")
        ),
        migrations.AddIndex(
            "batchrange",
            models.Index(fields=["recall"], name="batch_of_recall", condition=Q(recall__isnull=False)),
        ),
        migrations.AddConstraint(
            "batchrange",
            models.CheckConstraint(
                condition=Q(recall__isnull=True, recalled_at__isnull=True, recalled_from="", recalled_to="")
                | Q(recall__isnull=False, recalled_at__isnull=False, recalled_from="", recalled_to="")
                | Q(
                    recall__isnull=False,
                    recalled_at__isnull=False,
                    recalled_from__gt="",
                    recalled_to__gte=F("recalled_from"),
                ),
                name="batch_recalled_whole_or_in_order",
            ),
        ),
        migrations.AddConstraint(
            "withdrawnbatch",
            models.CheckConstraint(
                condition=Q(recalled_from="", recalled_to="")
                | Q(recalled_from__gt="", recalled_to__gte=F("recalled_from")),
                name="withdrawn_batch_whole_or_in_order",
            ),
        ),
        migrations.RunSQL(RETURNS_ARE_APPEND_ONLY, NOT_BACK),
    ]
