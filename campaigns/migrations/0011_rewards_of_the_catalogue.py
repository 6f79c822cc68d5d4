"""Milestones give rewards of the brand's catalogue, and take their words from it."""

import django.db.models.deletion
from django.db import migrations, models

# A milestone has its reward's words, so that no accrual has to look them up. The lock on the reward makes a change of its
# words wait for a milestone that is being saved, and that change then finds the milestone. Taking from the stock changes
# neither name nor translations, so it fires nothing.
WORDS_OF_REWARDS = """
CREATE FUNCTION copy_reward_to_milestone() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    chosen record;
BEGIN
    SELECT name, translations, brand_id INTO chosen FROM loyalty_reward WHERE id = NEW.reward_id FOR SHARE;
    IF NOT FOUND THEN
        RETURN NEW; -- the foreign key complains
    END IF;
    IF chosen.brand_id IS DISTINCT FROM (SELECT brand_id FROM campaigns_campaign WHERE campaign_id = NEW.campaign_id) THEN
        RAISE EXCEPTION 'the reward of a milestone belongs to another brand'
              USING ERRCODE = 'check_violation', CONSTRAINT = 'milestone_reward_of_its_brand';
    END IF;
    NEW.reward_name := chosen.name;
    NEW.translations := coalesce((
        SELECT jsonb_object_agg(language.key, jsonb_build_object('reward_name', language.value -> 'name'))
          FROM jsonb_each(chosen.translations) AS language WHERE language.value ? 'name'), '{}');
    RETURN NEW;
END $$;
CREATE FUNCTION copy_reward_to_its_milestones() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    UPDATE campaigns_milestone SET reward_name = NEW.name WHERE reward_id = NEW.id;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION copy_reward_to_milestone() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION copy_reward_to_its_milestones() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER words_of_reward BEFORE INSERT OR UPDATE OF reward_id, reward_name, translations, campaign_id
    ON campaigns_milestone FOR EACH ROW WHEN (NEW.reward_id IS NOT NULL) EXECUTE FUNCTION copy_reward_to_milestone();
CREATE TRIGGER words_of_milestones AFTER UPDATE OF name, translations
    ON loyalty_reward FOR EACH ROW
    WHEN (OLD.name IS DISTINCT FROM NEW.name OR OLD.translations IS DISTINCT FROM NEW.translations)
    EXECUTE FUNCTION copy_reward_to_its_milestones();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0010_levels_and_campaigns_as_drafts"),
        ("loyalty", "0020_reward_catalogue"),
    ]

    operations = [
        migrations.AddField(
            model_name="milestone",
            name="reward",
            field=models.ForeignKey(
                blank=True,
                help_text="What it gives. Stock and partner codes of the catalogue count for it, its cost does not.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="milestones",
                to="loyalty.reward",
                verbose_name="reward of the catalogue",
            ),
        ),
        migrations.AlterField(
            model_name="milestone",
            name="reward_name",
            field=models.CharField(
                help_text="What it gives. A reward of the catalogue brings its own name.", max_length=120
            ),
        ),
        migrations.AddConstraint(
            model_name="milestone",
            constraint=models.CheckConstraint(
                condition=models.Q(("reward__isnull", True), ("reward_points", 0), _connector="OR"),
                name="milestone_gives_points_or_a_reward",
                violation_error_message="It gives either points or a reward of the catalogue: empty one of the two.",
            ),
        ),
        migrations.RunSQL(WORDS_OF_REWARDS, migrations.RunSQL.noop),
    ]
