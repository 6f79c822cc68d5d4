"""Requests for points above a brand's ceiling, and the trigger that lets nobody else write such points.

The rows that a scan earns by name their brand in `brand_id`. A value may stay or fall; above the ceiling it may rise
only in the transaction that carries out an approval, which a second person gave.
"""

import django.core.serializers.json
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


INSTALL = """
-- Arguments: the model's label, the column, and the column that says whether it is a percentage, or nothing.
CREATE FUNCTION refuse_points_above_ceiling() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    fresh jsonb := to_jsonb(NEW);
    old jsonb := CASE WHEN TG_OP = 'UPDATE' THEN to_jsonb(OLD) END;
    requested numeric := (fresh ->> TG_ARGV[1])::numeric;
    most numeric;
BEGIN
    IF requested IS NULL OR (requested <= (old ->> TG_ARGV[1])::numeric
                             AND (TG_ARGV[2] = '' OR old ->> TG_ARGV[2] = fresh ->> TG_ARGV[2])) THEN
        RETURN NEW;
    END IF;
    IF TG_ARGV[2] <> '' AND fresh ->> TG_ARGV[2] = 'percentage' THEN
        most := 100;
    ELSE
        SELECT max_points_per_scan INTO most FROM brands_brand WHERE id = NEW.brand_id;
    END IF;
    IF requested > most AND NOT EXISTS (
        SELECT 1 FROM loyalty_pointsapproval
         WHERE id = nullif(current_setting('loyalty.points_approval', true), '')::bigint AND status = 'approved'
           AND kind = TG_ARGV[0] AND row_id = NEW.id AND (values ->> TG_ARGV[1])::numeric = requested)
    THEN
        RAISE EXCEPTION 'more than % needs the approval of a second person', most
              USING ERRCODE = 'check_violation', CONSTRAINT = 'points_above_ceiling';
    END IF;
    RETURN NEW;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION refuse_points_above_ceiling() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF scan_reward_value, scan_reward_type
    ON loyalty_brandlevel FOR EACH ROW
    EXECUTE FUNCTION refuse_points_above_ceiling('loyalty.brandlevel', 'scan_reward_value', 'scan_reward_type');
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF reward_value, reward_type
    ON loyalty_earningrule FOR EACH ROW
    EXECUTE FUNCTION refuse_points_above_ceiling('loyalty.earningrule', 'reward_value', 'reward_type');
"""
REMOVE = """
DROP TRIGGER points_above_ceiling ON loyalty_earningrule;
DROP TRIGGER points_above_ceiling ON loyalty_brandlevel;
DROP FUNCTION refuse_points_above_ceiling();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0011_points_ceiling_and_protection"),
        ("loyalty", "0018_ledger_is_not_truncated"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PointsApproval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(help_text="The row's model: app.model", max_length=60)),
                ("row_id", models.BigIntegerField()),
                ("row_name", models.CharField(max_length=200, verbose_name="what")),
                (
                    "values",
                    models.JSONField(
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="Of each field the value it gets when approved.",
                        verbose_name="requested",
                    ),
                ),
                (
                    "max_total",
                    models.DecimalField(
                        decimal_places=0,
                        help_text="Codes x points x scans, if all are scanned as often as possible.",
                        max_digits=40,
                        null=True,
                        verbose_name="total points at most",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Waiting for approval"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("requested_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("decided_at", models.DateTimeField(null=True)),
                (
                    "brand",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="brands.brand"),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "verbose_name": "points approval",
                "verbose_name_plural": "points approvals",
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["brand", "-id"], name="points_approval_of_brand")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "pending")),
                        fields=("kind", "row_id"),
                        name="one_pending_approval_per_row",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "approved", "rejected", "withdrawn"])),
                        name="approval_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "approved"), _negated=True),
                            models.Q(
                                ("decided_by__isnull", False),
                                models.Q(("decided_by", models.F("requested_by")), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="approved_by_a_second_person",
                    ),
                ],
            },
        ),
        migrations.RunSQL(INSTALL, REMOVE),
    ]
