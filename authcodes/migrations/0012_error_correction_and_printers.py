"""Error correction of a batch's codes; the printers of a brand, and what makes up for them."""

import django.db.models.deletion
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('authcodes', '0011_pictures_of_products'),
        ('brands', '0005_looks_of_a_brand'),
        ('campaigns', '0004_say_it_in_words'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Printer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='As people call it, such as “Warehouse, left”.', max_length=60, verbose_name='name')),
                ('offset_x', models.DecimalField(decimal_places=2, default=0, help_text='Negative: to the left.', max_digits=5, verbose_name='shift to the right, in mm')),
                ('offset_y', models.DecimalField(decimal_places=2, default=0, help_text='Negative: up.', max_digits=5, verbose_name='shift down, in mm')),
                ('scale', models.DecimalField(decimal_places=5, default=Decimal('1'), help_text='1 is as it is; 1.005 makes up for a printer whose 100 mm are 99.5 mm.', max_digits=6, verbose_name='scale')),
            ],
            options={
                'verbose_name': 'printer',
                'ordering': ['name', 'id'],
            },
        ),
        migrations.AddField(
            model_name='batchrange',
            name='error_correction',
            field=models.CharField(choices=[('L', 'L: 7 % may be damaged'), ('M', 'M: 15 % (recommended)'), ('Q', 'Q: 25 %'), ('H', 'H: 30 %')], default='M', help_text='Of its QR codes: how much of one may be dirty or torn. More makes its modules smaller.', max_length=1),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('error_correction__in', ['L', 'M', 'Q', 'H'])), name='batch_error_correction_known'),
        ),
        migrations.AddField(
            model_name='printer',
            name='brand',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='printers', to='brands.brand'),
        ),
        migrations.AddConstraint(
            model_name='printer',
            constraint=models.UniqueConstraint(fields=('brand', 'name'), name='printer_name_unique_in_brand'),
        ),
        migrations.AddConstraint(
            model_name='printer',
            constraint=models.CheckConstraint(condition=models.Q(('offset_x__range', (-20, 20)), ('offset_y__range', (-20, 20))), name='printer_offset_within_20_mm'),
        ),
        migrations.AddConstraint(
            model_name='printer',
            constraint=models.CheckConstraint(condition=models.Q(('scale__range', (Decimal('0.9'), Decimal('1.1')))), name='printer_scale_within_a_tenth'),
        ),
    ]
