"""Ledger entries say why they have their points; multipliers have a ceiling."""

from django.db import migrations, models


# As before; and what multiplies points has a ceiling of its own.
POINTS_ABOVE_CEILING = """
-- Arguments: the model's label, the column, and the column that says whether it is a percentage, or nothing.
CREATE OR REPLACE FUNCTION refuse_points_above_ceiling() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
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
    ELSIF TG_ARGV[2] <> '' AND fresh ->> TG_ARGV[2] = 'multiplier' THEN
        most := 10;
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
"""


class Migration(migrations.Migration):

    dependencies = [
        ('loyalty', '0008_returns_and_pending_points'),
    ]

    operations = [
        migrations.AddField(
            model_name='loyaltytransaction',
            name='details',
            field=models.JSONField(editable=False, help_text='Which rules gave the points, on what basis, and which limit cut them.', null=True),
        ),
        migrations.RunSQL(POINTS_ABOVE_CEILING, migrations.RunSQL.noop),
    ]
