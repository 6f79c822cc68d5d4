"""Adds what models cannot say: bounds of milestones and earning rules, whose redemption is whose, room for updates."""

from django.db import migrations

# Progress changes with every action: free space in its pages lets such an update touch no index.
ROOM_FOR_UPDATES = """
ALTER TABLE user_loyalty_campaign SET (fillfactor = 80);
"""
# No milestone pays more than the ceiling of its brand. What is above it by now may stay or fall.
MILESTONE_BELOW_CEILING = """
CREATE OR REPLACE FUNCTION refuse_milestone_above_ceiling() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
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
# Progress stops at the goal, so no milestone lies above it. Both triggers wait for the end of the transaction: a form may
# change the goal and its milestones together. The lock makes a milestone's check wait for a change of the goal that is
# under way; a later change sees the milestone.
MILESTONE_BELOW_GOAL = """
CREATE OR REPLACE FUNCTION reject_milestone_above_goal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    goal integer;
BEGIN
    SELECT target_value INTO goal FROM campaigns_campaign WHERE campaign_id = NEW.campaign_id FOR SHARE;
    IF EXISTS (SELECT 1 FROM campaigns_milestone WHERE campaign_id = NEW.campaign_id AND threshold > goal) THEN
        RAISE EXCEPTION 'a milestone lies above the goal of %', goal
              USING ERRCODE = 'check_violation', CONSTRAINT = 'milestone_above_goal';
    END IF;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION reject_milestone_above_goal() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE CONSTRAINT TRIGGER milestone_above_goal AFTER INSERT OR UPDATE OF threshold, campaign_id
    ON campaigns_milestone DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION reject_milestone_above_goal();
CREATE CONSTRAINT TRIGGER milestone_above_goal AFTER UPDATE OF target_value
    ON campaigns_campaign DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION reject_milestone_above_goal();
"""
# What an earning rule pays above the brand's ceiling needs an approval, as a level's points do.
RULE_BELOW_CEILING = """
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF reward_value, reward_type
    ON campaigns_earningrule FOR EACH ROW
    EXECUTE FUNCTION refuse_points_above_ceiling('campaigns.earningrule', 'reward_value', 'reward_type');
"""
# loyalty knows a milestone by its id alone, because campaigns stand on loyalty.
REDEMPTION_OF_MILESTONE = """
ALTER TABLE loyalty_redemption ADD CONSTRAINT redemption_of_milestone
    FOREIGN KEY (milestone_id) REFERENCES campaigns_milestone (milestone_id) DEFERRABLE INITIALLY DEFERRED;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0001_initial"),
        ("campaigns", "0001_initial"),
        ("loyalty", "0002_triggers_and_storage"),
    ]

    operations = [
        migrations.RunSQL(ROOM_FOR_UPDATES, migrations.RunSQL.noop),
        migrations.RunSQL(MILESTONE_BELOW_CEILING, migrations.RunSQL.noop),
        migrations.RunSQL(MILESTONE_BELOW_GOAL, migrations.RunSQL.noop),
        migrations.RunSQL(RULE_BELOW_CEILING, migrations.RunSQL.noop),
        migrations.RunSQL(REDEMPTION_OF_MILESTONE, migrations.RunSQL.noop),
    ]
