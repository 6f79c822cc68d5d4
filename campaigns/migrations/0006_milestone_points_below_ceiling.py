"""No milestone pays more than the ceiling of its campaign's brand. What is above it by now may stay or fall."""

from django.db import migrations

INSTALL = """
CREATE FUNCTION refuse_milestone_above_ceiling() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    most numeric;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.campaign_id = OLD.campaign_id AND NEW.reward_points <= OLD.reward_points THEN
        RETURN NEW;
    END IF;
    SELECT b.max_points_per_scan INTO most
      FROM campaigns_campaign c JOIN brands_brand b ON b.id = c.brand_id WHERE c.campaign_id = NEW.campaign_id;
    IF NEW.reward_points > most THEN
        RAISE EXCEPTION 'at most % points for a milestone', most
              USING ERRCODE = 'check_violation', CONSTRAINT = 'points_above_ceiling';
    END IF;
    RETURN NEW;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION refuse_milestone_above_ceiling() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF reward_points, campaign_id
    ON campaigns_milestone FOR EACH ROW EXECUTE FUNCTION refuse_milestone_above_ceiling();
"""
REMOVE = """
DROP TRIGGER points_above_ceiling ON campaigns_milestone;
DROP FUNCTION refuse_milestone_above_ceiling();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0011_points_ceiling_and_protection"),
        ("campaigns", "0005_only_points_come_by_themselves"),
    ]

    operations = [migrations.RunSQL(INSTALL, REMOVE)]
