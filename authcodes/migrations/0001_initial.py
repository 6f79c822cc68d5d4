import core.gtins
import core.moments
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('brands', '0001_initial'),
        ('campaigns', '0001_initial'),
        ('jobs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RollupWatermark',
            fields=[
                ('brand', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='brands.brand')),
                ('time_zone', models.CharField(max_length=64)),
                ('until', core.moments.DayField(null=True)),
            ],
            options={
                'verbose_name': 'rollup watermark',
            },
        ),
        migrations.CreateModel(
            name='BatchRange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('range_name', models.CharField(max_length=120)),
                ('quantity', models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                ('prefix', models.CharField(blank=True, db_collation='C', max_length=32)),
                ('starting_number', models.PositiveBigIntegerField(default=1)),
                ('number_width', models.PositiveSmallIntegerField(default=10, help_text='Digits of the zero-padded number.')),
                ('points_per_scan', models.PositiveIntegerField(blank=True, help_text="Leave empty for the product's points, else the member level's, else 1 point.", null=True)),
                ('scan_limit', models.PositiveIntegerField(blank=True, default=1, help_text='Leave empty for unlimited scans.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('expiration_date', core.moments.DayField(blank=True, help_text="The last day, in the brand's time zone.", null=True)),
                ('after_campaign', models.CharField(choices=[('points', 'Scans earn their usual points'), ('nothing', 'Scans earn nothing')], db_default='points', default='points', help_text='What scans earn while the campaign is not running: switched off, ended or not started.', max_length=7, verbose_name='after the campaign')),
                ('tag_version', models.PositiveSmallIntegerField(blank=True, editable=False, help_text='Signed batch: version of the secret behind its tags.', null=True)),
                ('error_correction', models.CharField(choices=[('L', 'L: 7 % may be damaged'), ('M', 'M: 15 % (recommended)'), ('Q', 'Q: 25 %'), ('H', 'H: 30 %')], default='M', help_text='How much of a QR code can be damaged and still scan. A higher level makes its modules smaller.', max_length=1)),
                ('first_code', models.CharField(db_collation='C', editable=False, max_length=64)),
                ('last_code', models.CharField(db_collation='C', editable=False, max_length=64)),
                ('generated_count', models.PositiveIntegerField(default=0, editable=False)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='brands.brand')),
                ('campaign', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='campaigns.campaign')),
                ('created_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'batch range',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='AuthCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(db_collation='C', max_length=64)),
                ('points_per_scan', models.PositiveIntegerField(blank=True, help_text="Leave empty for the batch's points.", null=True)),
                ('scan_count', models.PositiveIntegerField(default=0, editable=False)),
                ('slots_returned', models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text="Scans by guests that were not claimed in time.", verbose_name='slots given back')),
                ('first_scan_at', core.moments.MomentField(blank=True, editable=False, null=True)),
                ('first_scan_location', models.CharField(blank=True, editable=False, max_length=200)),
                ('deactivated_at', core.moments.MomentField(blank=True, editable=False, null=True)),
                ('inventory_location', models.CharField(blank=True, max_length=120)),
                ('location', models.CharField(blank=True, max_length=120)),
                ('notes', models.TextField(blank=True)),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='codes', to='authcodes.batchrange')),
            ],
            options={
                'verbose_name': 'auth code',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='CodeLookup',
            fields=[
                ('lookup_id', models.BigAutoField(primary_key=True, serialize=False, verbose_name='lookup id')),
                ('code', models.CharField(help_text='As scanned, shortened.', max_length=64)),
                ('reason', models.CharField(choices=[('accepted', 'Accepted'), ('campaign_inactive', 'Accepted; its campaign is not running'), ('product_inactive', 'Accepted; its product is no longer sold'), ('limit_reached', 'Scan limit reached'), ('reserved', 'Reserved for a guest'), ('recalled', 'Batch recalled'), ('unknown', 'Unknown code'), ('bad_tag', 'Signature missing or wrong'), ('other_brand', 'Code of another brand'), ('expired', 'Expired'), ('deactivated', 'Deactivated'), ('unassigned', 'No product assigned')], help_text='What the result of a scan would have been.', max_length=20)),
                ('looked_up_at', core.moments.MomentField(db_index=True, default=django.utils.timezone.now, verbose_name='looked up at')),
                ('auth_code', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='authcodes.authcode')),
                ('brand', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'code lookup',
                'verbose_name_plural': 'code lookups',
                'ordering': ['-lookup_id'],
            },
        ),
        migrations.CreateModel(
            name='Import',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('list', 'List of codes (auth_code, inventory_location, notes)'), ('ranges', 'Ranges (product_sku, auth_code_start, auth_code_end, location, points_per_scan)')], max_length=6)),
                ('file', models.FileField(help_text='Deleted with its rows some weeks after the import ended.', max_length=255, upload_to='imports/%Y/%m/')),
                ('file_name', models.CharField(max_length=200)),
                ('file_bytes', models.PositiveBigIntegerField(db_default=0, default=0, editable=False, verbose_name='file bytes')),
                ('sha256', models.CharField(editable=False, max_length=64)),
                ('status', models.CharField(choices=[('checking', 'Being checked'), ('refused', 'Rejected: the file cannot be read'), ('checked', 'Checked: review the preview'), ('committing', 'Being committed'), ('committed', 'Committed'), ('undoing', 'Being undone'), ('undone', 'Undone'), ('discarded', 'Discarded')], default='checking', max_length=10)),
                ('problem', models.TextField(blank=True, help_text='Why the file was rejected.')),
                ('rows', models.PositiveIntegerField(default=0)),
                ('bad_rows', models.PositiveIntegerField(default=0)),
                ('repaired_rows', models.PositiveIntegerField(default=0, help_text='Rows whose leading zeros were restored.')),
                ('codes', models.PositiveIntegerField(default=0, help_text='Codes in the rows without errors.')),
                ('skip_bad', models.BooleanField(default=False)),
                ('uploaded_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('committed_at', core.moments.MomentField(blank=True, null=True)),
                ('undone_at', core.moments.MomentField(blank=True, null=True)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imports', to='brands.brand')),
                ('uploaded_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WithdrawnRecall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('recall_id', models.CharField(max_length=64)),
                ('contact', models.CharField(max_length=200)),
                ('message', models.TextField()),
                ('reason', models.TextField()),
                ('recalled_at', core.moments.MomentField()),
                ('withdrawn_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('withdrawal_reason', models.TextField()),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='withdrawn_recalls', to='authcodes.batchrange')),
                ('withdrawn_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('recalled_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-withdrawn_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='PlaceRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', core.moments.DayField(help_text="In the brand's time zone.")),
                ('accepted', models.PositiveIntegerField()),
                ('first_scans', models.PositiveIntegerField(help_text="Accepted first scans of a code.")),
                ('warnings', models.PositiveIntegerField()),
                ('errors', models.PositiveIntegerField()),
                ('recalled', models.PositiveIntegerField(help_text='Warnings from scans of a recalled batch.')),
                ('points', models.DecimalField(decimal_places=2, max_digits=16)),
                ('unsettled', models.PositiveIntegerField(help_text='Scans whose points or place are still pending.')),
                ('location', models.CharField(blank=True, max_length=200)),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
            ],
        ),
        migrations.CreateModel(
            name='Printer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='A name that staff know, such as “Warehouse, left”.', max_length=60, verbose_name='name')),
                ('offset_x', models.DecimalField(decimal_places=2, default=0, help_text='Negative values shift to the left.', max_digits=5, verbose_name='shift to the right, in mm')),
                ('offset_y', models.DecimalField(decimal_places=2, default=0, help_text='Negative values shift up.', max_digits=5, verbose_name='shift down, in mm')),
                ('scale', models.DecimalField(decimal_places=5, default=Decimal('1'), help_text='1 means no correction. 1.005 corrects a printer that prints 100 mm as 99.5 mm.', max_digits=6, verbose_name='scale')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='printers', to='brands.brand')),
            ],
            options={
                'verbose_name': 'printer',
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='PrintRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(choices=[('labels', 'Label sheets (PDF)'), ('png', 'QR images, PNG (ZIP)'), ('svg', 'QR images, SVG (ZIP)')], max_length=6, verbose_name='what')),
                ('first_code', models.CharField(db_collation='C', max_length=64)),
                ('last_code', models.CharField(db_collation='C', max_length=64)),
                ('codes', models.PositiveIntegerField(help_text='Number of codes.', verbose_name='number')),
                ('settings', models.JSONField(default=dict, editable=False)),
                ('sha256', models.CharField(blank=True, max_length=64, verbose_name='SHA-256 of the file')),
                ('manifest_sha256', models.CharField(blank=True, max_length=64, verbose_name='SHA-256 of the manifest')),
                ('pages', models.PositiveIntegerField(blank=True, help_text='For label sheets.', null=True)),
                ('read_back', models.PositiveIntegerField(blank=True, help_text='Codes that were read back from the output and matched.', null=True)),
                ('pages_read', models.PositiveIntegerField(blank=True, help_text='Pages that were read back from the finished file.', null=True)),
                ('started_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='when')),
                ('batch', models.ForeignKey(blank=True, db_index=False, help_text='Empty for codes from a list, which may come from several batches.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='print_runs', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='print_runs', to='brands.brand')),
                ('job', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='print_run', to='jobs.job')),
                ('started_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='who')),
            ],
            options={
                'verbose_name': 'print run',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Product',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sku', models.CharField(max_length=64)),
                ('title', models.CharField(max_length=200)),
                ('retail_price', models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)])),
                ('redeem_point_value', models.PositiveIntegerField(blank=True, help_text="Points of a scan, regardless of the member's level. Enter 0 or leave empty to use the level's points.", null=True)),
                ('gtin', models.CharField(blank=True, max_length=14, validators=[django.core.validators.RegexValidator('^([0-9]{8}|[0-9]{12,14})$', '8, 12, 13 or 14 digits.'), core.gtins.validate_check_digit])),
                ('is_active', models.BooleanField(default=True, help_text='Untick for a product that is no longer sold. Its codes stay genuine, but scans earn no points.', verbose_name='sold')),
                ('created_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='products', to='brands.brand')),
                ('picture', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='brands.picture', verbose_name='picture')),
            ],
            options={
                'ordering': ['title', 'id'],
            },
        ),
        migrations.CreateModel(
            name='ImportRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('values', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('code', models.CharField(blank=True, db_collation='C', max_length=64)),
                ('code_end', models.CharField(blank=True, db_collation='C', max_length=64)),
                ('sku', models.CharField(blank=True, max_length=64)),
                ('location', models.CharField(blank=True, max_length=120)),
                ('notes', models.TextField(blank=True)),
                ('points_per_scan', models.PositiveIntegerField(null=True)),
                ('codes', models.PositiveIntegerField(default=0)),
                ('error', models.CharField(blank=True, max_length=300)),
                ('error_column', models.CharField(blank=True, max_length=40)),
                ('repaired', models.BooleanField(default=False)),
                ('upload', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='authcodes.import')),
                ('product', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='authcodes.product')),
            ],
            options={
                'ordering': ['upload_id', 'line'],
            },
        ),
        migrations.CreateModel(
            name='ImportChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('inventory_location', models.CharField(blank=True, max_length=120)),
                ('location', models.CharField(blank=True, max_length=120)),
                ('notes', models.TextField(blank=True)),
                ('points_per_scan', models.PositiveIntegerField(null=True)),
                ('auth_code', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='authcodes.authcode')),
                ('upload', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='authcodes.import')),
                ('product', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='authcodes.product')),
            ],
        ),
        migrations.AddField(
            model_name='import',
            name='product',
            field=models.ForeignKey(blank=True, help_text="The product of a list of codes.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='authcodes.product'),
        ),
        migrations.CreateModel(
            name='DayRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', core.moments.DayField(help_text="In the brand's time zone.")),
                ('accepted', models.PositiveIntegerField()),
                ('first_scans', models.PositiveIntegerField(help_text="Accepted first scans of a code.")),
                ('warnings', models.PositiveIntegerField()),
                ('errors', models.PositiveIntegerField()),
                ('recalled', models.PositiveIntegerField(help_text='Warnings from scans of a recalled batch.')),
                ('points', models.DecimalField(decimal_places=2, max_digits=16)),
                ('unsettled', models.PositiveIntegerField(help_text='Scans whose points or place are still pending.')),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='campaigns.campaign')),
                ('product', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.product')),
            ],
        ),
        migrations.CreateModel(
            name='CodeChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action_id', models.UUIDField(default=uuid.uuid4)),
                ('kind', models.CharField(choices=[('generated', 'Generated'), ('assigned', 'Assigned'), ('unassigned', 'Unassigned'), ('imported', 'Assigned by import'), ('import_undone', 'Import undone'), ('deactivated', 'Deactivated'), ('reactivated', 'Reactivated'), ('recalled', 'Recalled'), ('recall_withdrawn', 'Recall withdrawn'), ('edited', 'Edited')], max_length=16)),
                ('first_code', models.CharField(db_collation='C', max_length=64)),
                ('last_code', models.CharField(db_collation='C', max_length=64)),
                ('codes', models.PositiveIntegerField(help_text='How many codes changed.', verbose_name='number')),
                ('detail', models.TextField(blank=True, help_text='What was set.')),
                ('reason', models.TextField(blank=True)),
                ('changed_at', core.moments.MomentField(default=django.utils.timezone.now, verbose_name='when')),
                ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('changed_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='who')),
                ('upload', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='authcodes.import', verbose_name='import')),
                ('product', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='authcodes.product')),
            ],
            options={
                'verbose_name': 'code change',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='BatchPlaceRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', core.moments.DayField(help_text="In the brand's time zone.")),
                ('accepted', models.PositiveIntegerField()),
                ('first_scans', models.PositiveIntegerField(help_text="Accepted first scans of a code.")),
                ('warnings', models.PositiveIntegerField()),
                ('errors', models.PositiveIntegerField()),
                ('recalled', models.PositiveIntegerField(help_text='Warnings from scans of a recalled batch.')),
                ('points', models.DecimalField(decimal_places=2, max_digits=16)),
                ('unsettled', models.PositiveIntegerField(help_text='Scans whose points or place are still pending.')),
                ('location', models.CharField(blank=True, max_length=200)),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='campaigns.campaign')),
                ('product', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.product')),
            ],
        ),
        migrations.AddField(
            model_name='batchrange',
            name='product',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='authcodes.product'),
        ),
        migrations.AddField(
            model_name='authcode',
            name='product',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='codes', to='authcodes.product'),
        ),
        migrations.CreateModel(
            name='Recall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('recall_id', models.CharField(help_text='The number customers and authorities know it by.', max_length=64)),
                ('contact', models.CharField(help_text='Phone, e-mail or page for affected customers.', max_length=200)),
                ('message', models.TextField(help_text='What the customer should do.')),
                ('reason', models.TextField(help_text='For staff only.')),
                ('recalled_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False)),
                ('batch', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='recall', to='authcodes.batchrange')),
                ('recalled_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-recalled_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='Scan',
            fields=[
                ('scan_id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('code', models.CharField(help_text='As scanned, shortened.', max_length=64)),
                ('outcome', models.CharField(choices=[('success', 'Success'), ('warning', 'Warning'), ('error', 'Error')], max_length=7)),
                ('reason', models.CharField(choices=[('accepted', 'Accepted'), ('campaign_inactive', 'Accepted; its campaign is not running'), ('product_inactive', 'Accepted; its product is no longer sold'), ('limit_reached', 'Scan limit reached'), ('reserved', 'Reserved for a guest'), ('recalled', 'Batch recalled'), ('unknown', 'Unknown code'), ('bad_tag', 'Signature missing or wrong'), ('other_brand', 'Code of another brand'), ('expired', 'Expired'), ('deactivated', 'Deactivated'), ('unassigned', 'No product assigned')], max_length=20)),
                ('points_status', models.CharField(choices=[('pending', 'Pending'), ('awarded', 'Awarded'), ('guest', 'Guest: no points'), ('unconfirmed', 'Waits for a confirmed e-mail address'), ('lapsed', 'Not claimed in time'), ('already_claimed', 'Already claimed'), ('not_eligible', 'Not eligible'), ('limited', 'Point limit reached')], max_length=16)),
                ('unconfirmed', models.BooleanField(db_default=False, default=False, help_text="The brand requires a confirmed e-mail address, and the customer's was not confirmed.", verbose_name='e-mail address not confirmed')),
                ('points_promised', models.DecimalField(decimal_places=2, default=0, max_digits=10)),
                ('points_awarded', models.DecimalField(decimal_places=2, default=0, max_digits=10)),
                ('scan_count', models.PositiveIntegerField(default=0, help_text="Number of scans of the code, including this one.")),
                ('latitude', models.FloatField(null=True)),
                ('longitude', models.FloatField(null=True)),
                ('location', models.CharField(blank=True, help_text='City, region.', max_length=200)),
                ('located_at', core.moments.MomentField(null=True)),
                ('device', models.CharField(blank=True, max_length=120)),
                ('app_version', models.CharField(blank=True, max_length=40)),
                ('scanned_at', core.moments.MomentField(default=django.utils.timezone.now)),
                ('auth_code', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='scans', to='authcodes.authcode')),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='campaigns.campaign')),
                ('product', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.product')),
                ('user', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='scans', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-scanned_at', '-scan_id'],
            },
        ),
        migrations.CreateModel(
            name='UniqueScanner',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scanned', models.BooleanField()),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='UniqueScannerRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', core.moments.DayField(help_text="In the brand's time zone.")),
                ('location', models.CharField(blank=True, max_length=200)),
                ('scanned', models.BooleanField()),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='campaigns.campaign')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='UnscannedCodeAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', core.moments.DayField(help_text="In the brand's time zone.")),
                ('location', models.CharField(blank=True, max_length=200)),
                ('outcome', models.CharField(max_length=7)),
                ('reason', models.CharField(max_length=20)),
                ('auth_code', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.authcode')),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.batchrange')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='brands.brand')),
                ('campaign', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='campaigns.campaign')),
                ('product', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authcodes.product')),
                ('user', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='CodePrefix',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prefix', models.CharField(blank=True, db_collation='C', max_length=32)),
                ('reserved_at', core.moments.MomentField(default=django.utils.timezone.now, editable=False, verbose_name='reserved at')),
                ('brand', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='code_prefixes', to='brands.brand')),
                ('reserved_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='reserved by')),
            ],
            options={
                'verbose_name': 'code prefix',
                'verbose_name_plural': 'code prefixes',
                'ordering': ['prefix', 'id'],
                'constraints': [models.UniqueConstraint(fields=('prefix',), name='code_prefix_unique'), models.CheckConstraint(condition=models.Q(('prefix__regex', '^[A-Za-z0-9_-]*$')), name='code_prefix_characters')],
            },
        ),
        migrations.CreateModel(
            name='FakeReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(help_text='As scanned, shortened.', max_length=64, verbose_name='code')),
                ('place', models.CharField(max_length=200, verbose_name='shop or place')),
                ('remark', models.TextField(blank=True, max_length=2000, verbose_name='remark')),
                ('contact', models.CharField(blank=True, max_length=200, verbose_name='contact')),
                ('state', models.CharField(choices=[('open', 'Open'), ('closed', 'Closed')], default='open', max_length=6, verbose_name='state')),
                ('reported_at', core.moments.MomentField(db_index=True, default=django.utils.timezone.now, verbose_name='reported at')),
                ('closed_at', core.moments.MomentField(null=True, verbose_name='closed at')),
                ('auth_code', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='authcodes.authcode', verbose_name='auth code')),
                ('brand', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='brands.brand')),
                ('closed_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='closed by')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='customer')),
            ],
            options={
                'verbose_name': 'report of a fake',
                'verbose_name_plural': 'reports of fakes',
                'ordering': ['-reported_at', '-id'],
                'indexes': [models.Index(fields=['brand', 'state', '-reported_at'], name='fake_report_of_brand')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('state', 'open')), models.Q(('closed_at__isnull', False), ('state', 'closed')), _connector='OR'), name='fake_report_closed_at_some_time')],
            },
        ),
        migrations.AddConstraint(
            model_name='placerollup',
            constraint=models.UniqueConstraint(fields=('brand', 'day', 'location'), name='place_rollup_once'),
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
        migrations.AddIndex(
            model_name='printrun',
            index=models.Index(fields=['brand', '-id'], name='print_run_of_brand'),
        ),
        migrations.AddIndex(
            model_name='printrun',
            index=models.Index(fields=['batch', '-id'], name='print_run_of_batch'),
        ),
        migrations.AddConstraint(
            model_name='printrun',
            constraint=models.CheckConstraint(condition=models.Q(('what__in', ['labels', 'png', 'svg'])), name='print_run_what_known'),
        ),
        migrations.AddConstraint(
            model_name='printrun',
            constraint=models.CheckConstraint(condition=models.Q(('first_code__lte', models.F('last_code'))), name='print_run_range_in_order'),
        ),
        migrations.AddConstraint(
            model_name='printrun',
            constraint=models.CheckConstraint(condition=models.Q(('codes__gte', 1)), name='print_run_not_empty'),
        ),
        migrations.AddConstraint(
            model_name='product',
            constraint=models.UniqueConstraint(fields=('brand', 'sku'), name='sku_unique_in_brand'),
        ),
        migrations.AddConstraint(
            model_name='product',
            constraint=models.CheckConstraint(condition=models.Q(('retail_price__isnull', True), ('retail_price__gte', 0), _connector='OR'), name='retail_price_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='importrow',
            constraint=models.UniqueConstraint(fields=('upload', 'line'), name='import_line_once'),
        ),
        migrations.AddConstraint(
            model_name='importchange',
            constraint=models.UniqueConstraint(fields=('upload', 'auth_code'), name='import_change_once'),
        ),
        migrations.AddIndex(
            model_name='import',
            index=models.Index(fields=['brand', 'uploaded_at'], name='import_of_brand_by_day'),
        ),
        migrations.AddConstraint(
            model_name='import',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['checking', 'refused', 'checked', 'committing', 'committed', 'undoing', 'undone', 'discarded'])), name='import_status_known'),
        ),
        migrations.AddConstraint(
            model_name='import',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['list', 'ranges'])), name='import_kind_known'),
        ),
        migrations.AddIndex(
            model_name='dayrollup',
            index=models.Index(fields=['brand', 'day'], name='day_rollup_of_brand'),
        ),
        migrations.AddIndex(
            model_name='dayrollup',
            index=models.Index(condition=models.Q(('unsettled__gt', 0)), fields=['brand', 'day'], name='day_rollup_unsettled'),
        ),
        migrations.AddIndex(
            model_name='codechange',
            index=models.Index(fields=['batch', '-id'], name='code_change_of_batch'),
        ),
        migrations.AddIndex(
            model_name='codechange',
            index=models.Index(fields=['brand', '-id'], name='code_change_of_brand'),
        ),
        migrations.AddIndex(
            model_name='codechange',
            index=models.Index(fields=['action_id'], name='code_change_of_action'),
        ),
        migrations.AddConstraint(
            model_name='codechange',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['generated', 'assigned', 'unassigned', 'imported', 'import_undone', 'deactivated', 'reactivated', 'recalled', 'recall_withdrawn', 'edited'])), name='code_change_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='codechange',
            constraint=models.CheckConstraint(condition=models.Q(('first_code__lte', models.F('last_code'))), name='code_change_run_in_order'),
        ),
        migrations.AddIndex(
            model_name='batchplacerollup',
            index=models.Index(fields=['brand', 'day'], name='cell_rollup_of_brand'),
        ),
        migrations.AddIndex(
            model_name='batchplacerollup',
            index=models.Index(fields=['brand', 'location', 'day'], name='cell_rollup_of_place'),
        ),
        migrations.AddIndex(
            model_name='batchplacerollup',
            index=models.Index(fields=['brand', 'campaign', 'day'], include=('location', 'accepted'), name='cell_rollup_of_campaign'),
        ),
        migrations.AddIndex(
            model_name='batchplacerollup',
            index=models.Index(fields=['brand', 'batch', 'day'], include=('location', 'accepted'), name='cell_rollup_of_batch'),
        ),
        migrations.AddIndex(
            model_name='batchrange',
            index=models.Index(fields=['first_code'], name='batch_first_code'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.UniqueConstraint(fields=('brand', 'range_name'), name='range_name_unique_in_brand'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('quantity__gte', 1)), name='batch_quantity_positive'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('scan_limit__isnull', True), ('scan_limit__gte', 1), _connector='OR'), name='batch_scan_limit_positive'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('number_width__gte', 1), ('number_width__lte', 18)), name='batch_number_width_1_to_18'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('error_correction__in', ['L', 'M', 'Q', 'H'])), name='batch_error_correction_known'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('after_campaign__in', ['points', 'nothing'])), name='batch_after_campaign_known'),
        ),
        migrations.AddConstraint(
            model_name='batchrange',
            constraint=models.CheckConstraint(condition=models.Q(('generated_count__gte', 0), ('generated_count__lte', models.F('quantity'))), name='batch_progress_in_range'),
        ),
        migrations.AddIndex(
            model_name='authcode',
            index=models.Index(fields=['brand', 'id'], include=('batch', 'product', 'created_at'), name='auth_code_of_brand'),
        ),
        migrations.AddIndex(
            model_name='authcode',
            index=models.Index(fields=['batch', 'id'], include=('brand',), name='auth_code_of_batch'),
        ),
        migrations.AddIndex(
            model_name='authcode',
            index=models.Index(fields=['product', 'id'], include=('brand',), name='auth_code_of_product'),
        ),
        migrations.AddIndex(
            model_name='authcode',
            index=models.Index(condition=models.Q(('inventory_location__gt', '')), fields=['brand', 'inventory_location', 'id'], name='auth_code_of_inventory'),
        ),
        migrations.AddIndex(
            model_name='authcode',
            index=models.Index(condition=models.Q(('location__gt', '')), fields=['brand', 'location', 'id'], name='auth_code_of_location'),
        ),
        migrations.AddConstraint(
            model_name='authcode',
            constraint=models.UniqueConstraint(fields=('code',), name='auth_code_unique'),
        ),
        migrations.AddConstraint(
            model_name='authcode',
            constraint=models.CheckConstraint(condition=models.Q(('slots_returned__lte', models.F('scan_count'))), name='auth_code_gives_back_what_was_scanned'),
        ),
        migrations.AddIndex(
            model_name='scan',
            index=models.Index(fields=['auth_code', '-scanned_at'], name='scan_of_code'),
        ),
        migrations.AddIndex(
            model_name='scan',
            index=models.Index(fields=['user', 'auth_code'], name='scan_of_user'),
        ),
        migrations.AddIndex(
            model_name='scan',
            index=models.Index(fields=['brand', '-scanned_at', '-scan_id'], include=('auth_code', 'code', 'batch', 'product', 'campaign', 'outcome', 'reason', 'location'), name='scan_of_brand'),
        ),
        migrations.AddIndex(
            model_name='scan',
            index=models.Index(condition=models.Q(('outcome', 'success'), models.Q(('user__isnull', True), ('unconfirmed', True), _connector='OR')), fields=['auth_code', 'scanned_at'], name='scan_that_reserves'),
        ),
        migrations.AddIndex(
            model_name='scan',
            index=models.Index(condition=models.Q(('latitude__isnull', False), ('located_at__isnull', True)), fields=['scanned_at'], name='scan_to_locate'),
        ),
        migrations.AddConstraint(
            model_name='scan',
            constraint=models.CheckConstraint(condition=models.Q(('outcome__in', ['success', 'warning', 'error'])), name='scan_outcome_known'),
        ),
        migrations.AddConstraint(
            model_name='scan',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('latitude__isnull', True), ('longitude__isnull', True)), models.Q(('latitude__gte', -90), ('latitude__lte', 90), ('longitude__gte', -180), ('longitude__lte', 180)), _connector='OR'), name='scan_place_whole_and_on_earth'),
        ),
        migrations.AddConstraint(
            model_name='scan',
            constraint=models.CheckConstraint(condition=models.Q(('points_awarded', 0), ('outcome', 'success'), _connector='OR'), name='only_accepted_scans_earn'),
        ),
        migrations.AddConstraint(
            model_name='uniquescanner',
            constraint=models.UniqueConstraint(fields=('brand', 'user'), include=('scanned',), name='scanner_once'),
        ),
        migrations.AddIndex(
            model_name='uniquescannerrollup',
            index=models.Index(fields=['brand', 'day'], include=('user', 'scanned'), name='scanner_of_day'),
        ),
        migrations.AddIndex(
            model_name='uniquescannerrollup',
            index=models.Index(fields=['brand', 'location', 'day'], name='scanner_of_place'),
        ),
        migrations.AddIndex(
            model_name='uniquescannerrollup',
            index=models.Index(fields=['brand', 'campaign', 'day'], include=('user', 'scanned'), name='scanner_of_campaign'),
        ),
        migrations.AddIndex(
            model_name='uniquescannerrollup',
            index=models.Index(fields=['brand', 'batch', 'day'], include=('user', 'scanned'), name='scanner_of_batch'),
        ),
        migrations.AddIndex(
            model_name='unscannedcodeattempt',
            index=models.Index(fields=['brand', 'day'], name='vain_attempt_of_day'),
        ),
    ]
