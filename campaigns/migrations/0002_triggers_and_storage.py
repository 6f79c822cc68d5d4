"""Adds what models cannot express: limits of milestones and rules, versions of rules, and budgets."""

from django.db import migrations

# Progress changes with every action. With free space in a page, such an update changes no index.
ROOM_FOR_UPDATES = """
ALTER TABLE user_loyalty_campaign SET (fillfactor = 80);
"""
# A milestone gives at most the brand's ceiling. Points that are above a lowered ceiling may stay or be reduced.
MILESTONE_BELOW_CEILING = """
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
# Progress stops at the goal, so no milestone may lie above it. Both triggers run at the end of the transaction, because
# a form may change the goal and its milestones together. The lock makes the check of a milestone wait for a concurrent
# change of the goal; a later change sees the milestone.
MILESTONE_BELOW_GOAL = """
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
# Points of an earning rule above the brand's ceiling need an approval, as a level's do.
RULE_BELOW_CEILING = """
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF reward_value, reward_type
    ON campaigns_earningrule FOR EACH ROW
    EXECUTE FUNCTION refuse_points_above_ceiling('campaigns.earningrule', 'reward_value', 'reward_type');
"""
# The model in loyalty stores only the milestone's id, because loyalty may not import campaigns.
REDEMPTION_OF_MILESTONE = """
ALTER TABLE loyalty_redemption ADD CONSTRAINT redemption_of_milestone
    FOREIGN KEY (milestone_id) REFERENCES campaigns_milestone (milestone_id) DEFERRABLE INITIALLY DEFERRED;
"""
# A milestone has a copy of its reward's name and translations, so that accruals need not read the reward. The lock on
# the reward makes a change of its name wait for a milestone that is being saved, and then update it too. A change of
# the stock fires no trigger.
WORDS_OF_REWARDS = """
CREATE FUNCTION copy_reward_to_milestone() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    chosen record;
BEGIN
    SELECT name, translations, brand_id INTO chosen FROM loyalty_reward WHERE id = NEW.reward_id FOR SHARE;
    IF NOT FOUND THEN
        RETURN NEW; -- the foreign key raises an error
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
# Every change of an active rule, however it is made, stores a version with which a replay can decide again. A new rule
# gets the row that counts the use of its budget. The brand's rule set is locked: versions are numbered in order.
RULE_VERSIONS = """
CREATE FUNCTION earning_rule_content(campaigns_earningrule) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN $1.state = 'active'
                THEN to_jsonb($1) - '{id,brand_id,state,state_changed_at,state_changed_by_id,without_end}'::text[] END
$$;
CREATE FUNCTION keep_earning_rule_version() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    before jsonb := CASE WHEN TG_OP <> 'INSERT' THEN earning_rule_content(OLD) END;
    after jsonb := CASE WHEN TG_OP <> 'DELETE' THEN earning_rule_content(NEW) END;
    of_rule bigint := CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END;
    of_brand bigint := CASE WHEN TG_OP = 'DELETE' THEN OLD.brand_id ELSE NEW.brand_id END;
    next_version integer;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO campaigns_earningrulebudgetuse (rule_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    END IF;
    IF TG_OP = 'DELETE' THEN  -- its counters are deleted too, however it was deleted
        DELETE FROM campaigns_earningrulebudgetuse WHERE rule_id = OLD.id;
        DELETE FROM campaigns_earningruleuse WHERE rule_id = OLD.id;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.limits IS DISTINCT FROM OLD.limits THEN  -- staff are notified again when it is used up
        UPDATE campaigns_earningrulebudgetuse SET used_up_at = NULL, notified_at = NULL WHERE rule_id = NEW.id;
    END IF;
    IF before IS NOT DISTINCT FROM after THEN
        RETURN NULL;
    END IF;
    INSERT INTO campaigns_earningruleset AS mine (brand_id, version) VALUES (of_brand, 1)
        ON CONFLICT (brand_id) DO UPDATE SET version = mine.version + 1 RETURNING version INTO next_version;
    INSERT INTO campaigns_earningruleversion (brand_id, rule_id, number, set_version, content, written_at)
    SELECT of_brand, of_rule, coalesce(max(v.number), 0) + 1, next_version, after, statement_timestamp()
      FROM campaigns_earningruleversion v WHERE v.brand_id = of_brand AND v.rule_id = of_rule;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION keep_earning_rule_version() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER earning_rule_versions AFTER INSERT OR UPDATE OR DELETE ON campaigns_earningrule
    FOR EACH ROW EXECUTE FUNCTION keep_earning_rule_version();
CREATE TRIGGER earning_rule_versions_are_kept BEFORE UPDATE OR DELETE ON campaigns_earningruleversion
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_append_only();
CREATE TRIGGER earning_rule_versions_not_truncated BEFORE TRUNCATE ON campaigns_earningruleversion
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_append_only();
"""
# Stored events and rules must stay readable: names and types never change, and options are only added. A kind with an
# earning rule cannot be deleted: adding a rule locks the kind's row, so that neither transaction misses the other.
EVENT_KINDS_STAY = """
CREATE FUNCTION protect_event_kind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'the brand and the name of an event kind never change' USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM campaigns_earningrule r WHERE r.brand_id = OLD.brand_id AND r.kind = OLD.name) THEN
        RAISE EXCEPTION 'an earning rule is for the event kind %', OLD.name USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION protect_event_kind_field() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.kind_id, NEW.name, NEW.type) IS DISTINCT FROM (OLD.kind_id, OLD.name, OLD.type)
           OR NOT NEW.options @> OLD.options THEN
            RAISE EXCEPTION 'name, type and options of an event field never change' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF EXISTS (SELECT FROM campaigns_eventkind k
                 JOIN campaigns_earningrule r ON r.brand_id = k.brand_id AND r.kind = k.name
                WHERE k.id = OLD.kind_id) THEN
        RAISE EXCEPTION 'an earning rule is for the kind of the event field %', OLD.name
              USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION find_event_kind_of_rule() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM campaigns_eventkind k WHERE k.brand_id = NEW.brand_id AND k.name = NEW.kind FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the brand has no event kind %', NEW.kind USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER event_kind_is_in_use BEFORE DELETE ON campaigns_eventkind
    FOR EACH ROW EXECUTE FUNCTION protect_event_kind();
CREATE TRIGGER event_kind_stays BEFORE UPDATE OF brand_id, name ON campaigns_eventkind
    FOR EACH ROW WHEN ((NEW.brand_id, NEW.name) IS DISTINCT FROM (OLD.brand_id, OLD.name))
    EXECUTE FUNCTION protect_event_kind();
CREATE TRIGGER event_kind_field_stays BEFORE UPDATE OR DELETE ON campaigns_eventkindfield
    FOR EACH ROW EXECUTE FUNCTION protect_event_kind_field();
CREATE TRIGGER earning_rule_for_a_known_kind BEFORE INSERT OR UPDATE OF brand_id, kind ON campaigns_earningrule
    FOR EACH ROW WHEN (NEW.kind NOT IN ('scan-auth', 'order-complete', 'log-user-profile-update', 'log-user-login', 'milestone',
                                        'member-welcome', 'member-birthday'))
    EXECUTE FUNCTION find_event_kind_of_rule();
"""
# A new campaign gets the row that counts the use of its budget. A budget that is set later counts the points given
# before it. Staff are notified again when a changed budget is used up.
CAMPAIGN_BUDGETS = """
CREATE FUNCTION keep_campaign_budget() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO campaigns_campaignbudgetuse (campaign_id, brand_id) VALUES (NEW.campaign_id, NEW.brand_id)
        ON CONFLICT DO NOTHING;
    IF TG_OP = 'UPDATE' AND NEW.budget IS DISTINCT FROM OLD.budget THEN
        UPDATE campaigns_campaignbudgetuse SET notified_at = NULL WHERE campaign_id = NEW.campaign_id;
        IF OLD.budget IS NULL THEN
            UPDATE campaigns_campaignbudgetuse b SET points = coalesce((
                SELECT sum(coalesce(r.points, m.reward_points))
                  FROM campaigns_milestone m JOIN campaigns_rewardclaim r USING (milestone_id)
                 WHERE m.campaign_id = NEW.campaign_id), 0)
             WHERE b.campaign_id = NEW.campaign_id;
        END IF;
    END IF;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION keep_campaign_budget() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER campaign_budget AFTER INSERT OR UPDATE OF budget ON campaigns_campaign
    FOR EACH ROW EXECUTE FUNCTION keep_campaign_budget();
"""
# Every change of the earning terms (all that decides about an action besides the rules) stores them with the time from
# which they are valid; other changes store nothing. They are deleted with their brand, however it is deleted.
EARNING_TERMS = """
CREATE FUNCTION earning_terms_content(of_brand bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
               'time_zone', b.time_zone, 'daily', b.daily_point_limit::text, 'monthly', b.monthly_point_limit::text,
               'ceiling', b.max_points_per_scan, 'after_return', b.after_return,
               'levels', coalesce((
                   SELECT jsonb_agg(jsonb_build_array(l.name, l.threshold::text, l.scan_reward_type,
                                                      l.scan_reward_value::text) ORDER BY l.threshold)
                     FROM loyalty_brandlevel l WHERE l.brand_id = b.id), '[]'))
           || CASE WHEN b.level_period = 'lifetime' THEN '{}'::jsonb ELSE '{"level_periods": true}'::jsonb END
      FROM brands_brand b WHERE b.id = of_brand
$$;
CREATE FUNCTION keep_earning_terms() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    of_brand bigint;
    terms jsonb;
BEGIN
    IF TG_TABLE_NAME = 'brands_brand' THEN
        IF TG_OP = 'DELETE' THEN
            DELETE FROM campaigns_earningterms WHERE brand_id = OLD.id;
            RETURN NULL;
        END IF;
        of_brand := NEW.id;
    ELSE
        of_brand := CASE WHEN TG_OP = 'DELETE' THEN OLD.brand_id ELSE NEW.brand_id END;
    END IF;
    terms := earning_terms_content(of_brand);
    IF terms IS NOT NULL AND terms IS DISTINCT FROM (
        SELECT t.content FROM campaigns_earningterms t WHERE t.brand_id = of_brand
         ORDER BY t.valid_from DESC, t.id DESC LIMIT 1)
    THEN
        INSERT INTO campaigns_earningterms (brand_id, content, valid_from)
        VALUES (of_brand, terms, statement_timestamp());
    END IF;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION keep_earning_terms() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER brand_earning_terms
    AFTER INSERT OR DELETE
       OR UPDATE OF time_zone, daily_point_limit, monthly_point_limit, max_points_per_scan, after_return, level_period
    ON brands_brand
    FOR EACH ROW EXECUTE FUNCTION keep_earning_terms();
CREATE TRIGGER level_earning_terms AFTER INSERT OR UPDATE OR DELETE ON loyalty_brandlevel
    FOR EACH ROW EXECUTE FUNCTION keep_earning_terms();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0002_triggers_and_storage"),
        ("campaigns", "0001_initial"),
        ("loyalty", "0002_triggers_and_storage"),
    ]

    operations = [
        migrations.RunSQL(ROOM_FOR_UPDATES, migrations.RunSQL.noop),
        migrations.RunSQL(MILESTONE_BELOW_CEILING, migrations.RunSQL.noop),
        migrations.RunSQL(MILESTONE_BELOW_GOAL, migrations.RunSQL.noop),
        migrations.RunSQL(RULE_BELOW_CEILING, migrations.RunSQL.noop),
        migrations.RunSQL(REDEMPTION_OF_MILESTONE, migrations.RunSQL.noop),
        migrations.RunSQL(WORDS_OF_REWARDS, migrations.RunSQL.noop),
        migrations.RunSQL(RULE_VERSIONS, migrations.RunSQL.noop),
        migrations.RunSQL(EVENT_KINDS_STAY, migrations.RunSQL.noop),
        migrations.RunSQL(CAMPAIGN_BUDGETS, migrations.RunSQL.noop),
        migrations.RunSQL(EARNING_TERMS, migrations.RunSQL.noop),
    ]
