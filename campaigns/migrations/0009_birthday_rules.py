"""Birthdays are a kind of rules of ours."""

from django.db import migrations, models

RULES_FOR_BIRTHDAYS = """
DROP TRIGGER earning_rule_for_a_known_kind ON campaigns_earningrule;
CREATE TRIGGER earning_rule_for_a_known_kind BEFORE INSERT OR UPDATE OF brand_id, kind ON campaigns_earningrule
    FOR EACH ROW WHEN (NEW.kind NOT IN ('scan-auth', 'order-complete', 'log-user-profile-update', 'log-user-login', 'milestone',
                                        'member-welcome', 'member-birthday'))
    EXECUTE FUNCTION find_event_kind_of_rule();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0008_level_periods'),
    ]

    operations = [
        migrations.AlterField(
            model_name='earningrule',
            name='kind',
            field=models.CharField(choices=[('scan-auth', 'Product scanned'), ('order-complete', 'Order completed'), ('log-user-profile-update', 'Profile field completed'), ('log-user-login', 'First login of the day'), ('milestone', 'Milestone that pays points'), ('member-welcome', 'Member joined'), ('member-birthday', "Member's birthday")], max_length=64, verbose_name='when'),
        ),
        migrations.RunSQL(RULES_FOR_BIRTHDAYS, migrations.RunSQL.noop),
    ]
