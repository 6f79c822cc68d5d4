"""A milestone lies at its campaign's goal or below it, because progress stops there.

A goal that lies below a milestone by now becomes the highest milestone, so that no reward gets out of reach.
"""

from django.db import migrations, models

RAISE_GOALS = """
UPDATE campaigns_campaign c SET target_value = highest.threshold
  FROM (SELECT campaign_id, max(threshold) AS threshold FROM campaigns_milestone GROUP BY campaign_id) AS highest
 WHERE highest.campaign_id = c.campaign_id AND highest.threshold > c.target_value
"""
# Both triggers wait for the end of the transaction: a form may change the goal and its milestones together. The lock
# makes a milestone's check wait for a change of the goal that is under way; a later change sees the milestone.
INSTALL = """
CREATE FUNCTION reject_milestone_above_goal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
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
REMOVE = """
DROP TRIGGER milestone_above_goal ON campaigns_milestone;
DROP TRIGGER milestone_above_goal ON campaigns_campaign;
DROP FUNCTION reject_milestone_above_goal();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0007_bounds_of_dates_and_times"),
    ]

    operations = [
        migrations.AlterField(
            model_name="milestone",
            name="auto_claim",
            field=models.BooleanField(
                default=True,
                help_text="On: points are paid, and the code for a thing is made, at once. Off: the customer claims it.",
            ),
        ),
        migrations.RunSQL(RAISE_GOALS, migrations.RunSQL.noop),
        migrations.RunSQL(INSTALL, REMOVE),
    ]
