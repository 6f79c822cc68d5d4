"""Terms of replays say since when a brand's levels have periods; of a brand whose levels stay they are as they were."""

from django.db import migrations

FORWARDS = """
CREATE OR REPLACE FUNCTION earning_terms_content(of_brand bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
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
DROP TRIGGER brand_earning_terms ON brands_brand;
CREATE TRIGGER brand_earning_terms
    AFTER INSERT OR DELETE
       OR UPDATE OF time_zone, daily_point_limit, monthly_point_limit, max_points_per_scan, after_return, level_period
    ON brands_brand
    FOR EACH ROW EXECUTE FUNCTION keep_earning_terms();
"""
BACKWARDS = """
CREATE OR REPLACE FUNCTION earning_terms_content(of_brand bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
               'time_zone', b.time_zone, 'daily', b.daily_point_limit::text, 'monthly', b.monthly_point_limit::text,
               'ceiling', b.max_points_per_scan, 'after_return', b.after_return,
               'levels', coalesce((
                   SELECT jsonb_agg(jsonb_build_array(l.name, l.threshold::text, l.scan_reward_type,
                                                      l.scan_reward_value::text) ORDER BY l.threshold)
                     FROM loyalty_brandlevel l WHERE l.brand_id = b.id), '[]'))
      FROM brands_brand b WHERE b.id = of_brand
$$;
DROP TRIGGER brand_earning_terms ON brands_brand;
CREATE TRIGGER brand_earning_terms
    AFTER INSERT OR DELETE
       OR UPDATE OF time_zone, daily_point_limit, monthly_point_limit, max_points_per_scan, after_return ON brands_brand
    FOR EACH ROW EXECUTE FUNCTION keep_earning_terms();
"""


class Migration(migrations.Migration):
    dependencies = [("brands", "0010_level_periods"), ("campaigns", "0007_replays"), ("loyalty", "0016_level_periods")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
