"""Notifications: customers' preferences by channel, and the result of each notification."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.encryption import EncryptedTextField
from core.moments import MomentField


class Channel(models.TextChoices):
    EMAIL = "email", _("E-mail")
    SMS = "sms", _("SMS")
    PUSH = "push", _("Push")


class Topic(models.TextChoices):
    """What a notification is about, as customers choose: their own points, a brand's offers, or their safety."""

    POINTS = "points", _("Points and levels")
    OFFERS = "offers", _("Rewards and reminders")
    SAFETY = "safety", pgettext_lazy("topic of notifications", "Recalls")


class Language(models.TextChoices):
    ENGLISH = "en", _("English")
    GERMAN = "de", _("German")
    ARABIC = "ar", _("Arabic")


PHONE = RegexValidator(r"^\+[1-9][0-9]{6,14}\Z", _("Enter the number with its country code, such as +4930123456."))


class NotificationPreference(models.Model):
    """A customer's preferences at a brand. Without a row: all topics by e-mail and push, in the brand's language."""

    customer_through = ("user",)

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    language = models.CharField(max_length=5, choices=Language.choices, blank=True)
    phone = models.CharField(max_length=16, blank=True, validators=[PHONE])
    opted_out = ArrayField(models.CharField(max_length=20), default=list, help_text=_("Each entry is topic/channel."))
    updated_at = MomentField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "user"], name="one_preference_per_brand"),
        ]
        indexes = [
            models.Index(fields=["brand", "phone"], name="customer_by_phone", condition=~Q(phone="")),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.brand_id}"


class Device(models.Model):
    """A phone or browser that a customer's app registered for push messages of a brand."""

    customer_through = ("user",)

    class Platform(models.TextChoices):
        ANDROID = "android", "Android"
        IOS = "ios", "iOS"
        WEB = "web", _("Web")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    token = models.CharField(max_length=1024)
    platform = models.CharField(max_length=10, choices=Platform.choices)
    registered_at = MomentField(default=timezone.now)
    died_at = MomentField(null=True, blank=True, help_text=_("When the push service reported that the device is gone."))

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["user", "brand"], name="device_of_customer")]
        constraints = [
            models.UniqueConstraint(fields=["brand", "token"], name="device_once_per_brand"),
            check("device_platform_known", Q(platform__in=["android", "ios", "web"])),
        ]

    def __str__(self) -> str:
        return f"{self.get_platform_display()} {self.token[:6]}…"


class Template(models.TextChoices):
    """The templates of notifications, by the names that events use."""

    POINTS_EARNED = "NOTIFY_CAMPAIGN_SUCCESS", _("Points earned")
    LEVEL_REACHED = "NOTIFY_LEVEL_REACHED", _("Level reached")
    LEVEL_ENDING = "NOTIFY_LEVEL_ENDING", _("Level ends soon")
    LEVEL_LOWERED = "NOTIFY_LEVEL_LOWERED", _("Level lost")
    REWARD_AVAILABLE = "NOTIFY_REWARD_AVAILABLE", _("Reward available")
    POINTS_EXPIRING = "NOTIFY_POINTS_EXPIRING", _("Points expire soon")
    POINTS_RECEIVED = "NOTIFY_POINTS_RECEIVED", _("Points from another member")
    BROADCAST = "NOTIFY_BROADCAST", _("Broadcast")
    RECALL = "NOTIFY_RECALL", _("Product recall")
    PASSWORD_RESET = "NOTIFY_PASSWORD_FORGOTTEN", _("Forgotten password")
    EMAIL_CONFIRMATION = "NOTIFY_EMAIL_CONFIRMATION", _("Confirm an e-mail address")
    ALREADY_REGISTERED = "NOTIFY_ALREADY_REGISTERED", _("Already registered")
    LOGIN_PAUSED = "NOTIFY_LOGIN_PAUSED", _("Logins from new devices paused")
    EMAIL_CHANGE = "NOTIFY_EMAIL_CHANGE", _("Confirm a new e-mail address")
    EMAIL_CHANGE_NOTIFICATION = "NOTIFY_EMAIL_CHANGE_NOTICE", _("E-mail address about to change")


class NotificationSettings(models.Model):
    """Whether and how a brand sends notifications. Accruals read `is_active` and `merge_seconds`."""

    brand = models.OneToOneField(Brand, models.CASCADE, related_name="notice_settings", verbose_name=_("brand"))
    is_active = models.BooleanField(
        _("send notifications"),
        default=True,
        help_text=_("If unticked, only recalls and account messages are sent, by e-mail."),
    )
    language = models.CharField(
        _("language"),
        max_length=5,
        choices=Language.choices,
        default=Language.ENGLISH,
        help_text=_("For customers who have not chosen a language."),
    )
    merge_seconds = models.PositiveIntegerField(
        _("seconds to combine"),
        default=60,
        validators=[MaxValueValidator(3600)],
        help_text=_("Points earned within this many seconds are combined into one notification."),
    )
    email_on = models.BooleanField(_("e-mail"), default=True)
    sender_name = models.CharField(
        _("sender name"),
        max_length=120,
        blank=True,
        help_text=_("Shown next to a verified sender address. Leave empty for the brand's name."),
    )
    sender_address = models.EmailField(
        _("sender address"),
        blank=True,
        help_text=_(
            "Used once its domain is verified under Sender domains. Until then, e-mails come "
            "from the installation's address and replies go to this one. The domain must "
            "allow this installation's mail server (SPF, DKIM)."
        ),
    )
    reply_to = models.EmailField(_("reply to"), blank=True, help_text=_("Leave empty for the brand's support address."))
    sms_on = models.BooleanField(_("SMS"), default=False)
    twilio_account_sid = models.CharField(
        _("Twilio account SID"),
        max_length=34,
        blank=True,
        validators=[RegexValidator(r"^AC[0-9a-f]{32}\Z", _("It begins with AC and has 34 letters and digits."))],
    )
    twilio_auth_token = EncryptedTextField(_("Twilio auth token"), blank=True)
    sms_sender = models.CharField(
        _("SMS sender"),
        max_length=34,
        blank=True,
        validators=[
            RegexValidator(
                r"^(\+[1-9][0-9]{6,14}|MG[0-9a-f]{32}|[A-Za-z0-9 ]{1,11})\Z",
                _("A number with its country, a messaging service's SID, or a name of up to 11 letters and digits."),
            )
        ],
    )
    push_on = models.BooleanField(_("push"), default=False)
    fcm_service_account = EncryptedTextField(
        _("Firebase service account"), blank=True, help_text=_("The JSON file from Google's console.")
    )

    class Meta:
        verbose_name = _("notification settings")
        verbose_name_plural = _("notification settings")
        ordering = ["brand_id"]
        constraints = [check("merging_takes_an_hour_at_most", Q(merge_seconds__lte=3600))]

    def __str__(self) -> str:
        return str(_("Notifications of %(brand)s") % {"brand": self.brand})


class NotificationTemplate(models.Model):
    """A brand's own text of a notification, instead of the default one."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    template = models.CharField(_("notification"), max_length=32, choices=Template.choices)
    channel = models.CharField(_("channel"), max_length=5, choices=Channel.choices)
    language = models.CharField(_("language"), max_length=5, choices=Language.choices)
    subject = models.CharField(
        _("subject"),
        max_length=200,
        blank=True,
        help_text=_("Subject of an e-mail or title of a push message. An SMS has none."),
    )
    body = models.TextField(_("body"))
    updated_at = MomentField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("notification template")
        verbose_name_plural = _("notification templates")
        ordering = ["brand_id", "template", "channel", "language"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "template", "channel", "language"],
                name="one_wording_each",
                violation_error_message=_("The brand already has its own text for this. Edit that text."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_template_display()}, {self.get_channel_display()}, {self.get_language_display()}"


class Notification(models.Model):
    """A notification that a customer gets once, on any channels. `covers` lists the events that it is about."""

    customer_through = ("user",)

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    template = models.CharField(_("notification"), max_length=32, choices=Template.choices)
    key = models.CharField(
        max_length=120,
        blank=True,
        help_text=_("What the notification is sent once for. Blank while more events are merged into it."),
    )
    payload = models.JSONField(default=dict)
    covers = models.JSONField(default=list)
    is_test = models.BooleanField(default=False)
    opened_at = MomentField(default=timezone.now)
    closed_at = MomentField(null=True, help_text=_("After this time, nothing is merged into the notification."))
    acknowledged_at = MomentField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["brand", "key"], name="notice_of_a_recall", condition=~Q(key=""))]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "user", "template"],
                condition=Q(key="", closed_at__isnull=True),
                name="one_notice_gathers",
            ),
            models.UniqueConstraint(
                fields=["brand", "user", "template", "key"], condition=~Q(key=""), name="told_once_of_it"
            ),
        ]

    def __str__(self) -> str:
        return self.get_template_display()


class NotificationDelivery(models.Model):
    """A notification to one address. Each attempt reads the customer's current address.

    `address` is only for tests: the encrypted target, until the delivery is done.
    """

    customer_through = ("user",)

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        SENT = "sent", _("Sent")
        FAILED = "failed", _("Failed")
        SUPPRESSED = "suppressed", _("Suppressed")
        BOUNCED = "bounced", _("Bounced")

    delivery_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    notification = models.ForeignKey(
        Notification, models.CASCADE, related_name="deliveries", verbose_name=_("notification")
    )
    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    user = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False, verbose_name=_("customer"))
    template = models.CharField(_("notification"), max_length=32, choices=Template.choices)
    channel = models.CharField(_("channel"), max_length=5, choices=Channel.choices)
    language = models.CharField(_("language"), max_length=5, choices=Language.choices)
    address = EncryptedTextField(blank=True, editable=False)
    masked_address = models.CharField(_("address"), max_length=120)
    device = models.ForeignKey(Device, models.SET_NULL, null=True, related_name="+", verbose_name=_("device"))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.QUEUED)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    event_id = models.UUIDField(_("event id"), help_text=_("The event that caused the notification."))
    provider_id = models.CharField(
        _("provider id"), max_length=255, blank=True, help_text=_("The id at the mail, SMS or push service.")
    )
    last_error = models.TextField(_("last error"), blank=True)
    created_at = MomentField(_("created at"), default=timezone.now)
    finished_at = MomentField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="delivery_of_brand"),
            models.Index(fields=["user", "brand", "-id"], name="delivery_to_customer"),
        ]
        constraints = [
            check("delivery_status_known", Q(status__in=["queued", "sent", "failed", "suppressed", "bounced"])),
        ]

    def __str__(self) -> str:
        return f"{self.get_template_display()}, {self.get_channel_display()}"
