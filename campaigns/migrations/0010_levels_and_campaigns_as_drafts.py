"""Levels and campaigns are tried on past actions too, as earning rules are."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0009_birthday_rules'),
    ]

    operations = [
        migrations.RenameField(model_name='replay', old_name='rule_name', new_name='name'),
        migrations.AlterField(
            model_name='replay',
            name='name',
            field=models.CharField(max_length=120, verbose_name='what was tried'),
        ),
        migrations.AlterField(
            model_name='replay',
            name='content',
            field=models.JSONField(help_text='What the draft said.'),
        ),
        migrations.AlterField(
            model_name='replay',
            name='rule',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replays', to='campaigns.earningrule', verbose_name='rule'),
        ),
        migrations.AddField(
            model_name='replay',
            name='kind',
            field=models.CharField(choices=[('rule', 'Earning rule'), ('levels', 'Levels'), ('campaign', 'Campaign')], db_default='rule', default='rule', max_length=8, verbose_name='kind'),
        ),
        migrations.AddField(
            model_name='replay',
            name='campaign',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replays', to='campaigns.campaign', verbose_name='campaign'),
        ),
        migrations.AddConstraint(
            model_name='replay',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('campaign__isnull', True), ('kind', 'rule'), ('rule__isnull', False)), models.Q(('campaign__isnull', True), ('kind', 'levels'), ('rule__isnull', True)), models.Q(('campaign__isnull', False), ('kind', 'campaign'), ('rule__isnull', True)), _connector='OR'), name='replay_of_its_kind'),
        ),
    ]
