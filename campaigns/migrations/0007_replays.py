"""Replays of draft rules, and what a brand's levels, limits and clock have been since a moment."""

import core.moments
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

# Whatever changes what actions are decided by beside the rules leaves what it was since when. A row that changes nothing
# of it leaves none. A brand's own go with it, however it is deleted.
TERMS = """
CREATE FUNCTION earning_terms_content(of_brand bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
               'time_zone', b.time_zone, 'daily', b.daily_point_limit::text, 'monthly', b.monthly_point_limit::text,
               'ceiling', b.max_points_per_scan, 'after_return', b.after_return,
               'levels', coalesce((
                   SELECT jsonb_agg(jsonb_build_array(l.name, l.threshold::text, l.scan_reward_type,
                                                      l.scan_reward_value::text) ORDER BY l.threshold)
                     FROM loyalty_brandlevel l WHERE l.brand_id = b.id), '[]'))
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
       OR UPDATE OF time_zone, daily_point_limit, monthly_point_limit, max_points_per_scan, after_return ON brands_brand
    FOR EACH ROW EXECUTE FUNCTION keep_earning_terms();
CREATE TRIGGER level_earning_terms AFTER INSERT OR UPDATE OR DELETE ON loyalty_brandlevel
    FOR EACH ROW EXECUTE FUNCTION keep_earning_terms();
INSERT INTO campaigns_earningterms (brand_id, content, valid_from)
SELECT b.id, earning_terms_content(b.id), statement_timestamp() FROM brands_brand b;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('brands', '0008_order_points_and_returns'),
        ('campaigns', '0006_campaign_steps_rounds_budgets'),
        ('jobs', '0005_reports_as_pdf'),
        ('loyalty', '0012_point_transfers'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='EarningTerms',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('content', models.JSONField()),
                ('valid_from', core.moments.MomentField()),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
            options={
                'verbose_name': 'earning terms',
                'verbose_name_plural': 'earning terms',
                'ordering': ['-valid_from', '-id'],
                'indexes': [models.Index(fields=['brand', 'valid_from'], name='terms_of_brand')],
            },
        ),
        migrations.CreateModel(
            name='Replay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule_name', models.CharField(max_length=120, verbose_name='rule')),
                ('content', models.JSONField(help_text='What the rule said.')),
                ('since', core.moments.MomentField(verbose_name='from')),
                ('until', core.moments.MomentField(verbose_name='until')),
                ('result', models.JSONField(null=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='started')),
                ('finished_at', core.moments.MomentField(null=True, verbose_name='finished')),
                ('expires_at', core.moments.MomentField(db_index=True, verbose_name='kept until')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('created_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='started by')),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='jobs.job', verbose_name='job')),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='replays', to='campaigns.earningrule', verbose_name='rule')),
            ],
            options={
                'verbose_name': 'replay',
                'verbose_name_plural': 'replays',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['brand', '-id'], name='replay_of_brand')],
                'constraints': [models.CheckConstraint(condition=models.Q(('until__gt', models.F('since'))), name='replay_period_not_empty'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('result__isnull', True)), models.Q(('finished_at__isnull', False), ('result__isnull', False)), _connector='OR'), name='replay_finished_with_result')],
            },
        ),
        migrations.RunSQL(TERMS, migrations.RunSQL.noop),
    ]
