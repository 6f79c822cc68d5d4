"""What lower apps call in higher ones, as dotted paths: handlers, jobs, personal data, panels."""

CELERY_TASK_ROUTES = {
    "jobs.tasks.run_job": {"queue": "work"},
    "events.tasks.sweep": {"queue": "events"},
    "events.tasks.deliver_due": {"queue": "events"},
    # This task calls the workers of `work`, so it must not wait for one.
    "jobs.tasks.resume_jobs": {"queue": "regular"},
}

# --- Events ----------------------------------------------------------------------------------------------------------
EVENT_HANDLERS = {
    "scan-auth": "authcodes.scanning.scan_events.on_scan_auth",
    "order-complete": "campaigns.accrual.handlers.on_order_complete",
    "order-returned": "campaigns.accrual.order_returns.on_order_return",
    "order-cancelled": "campaigns.accrual.order_returns.on_order_return",
    "order-delivered": "campaigns.accrual.order_returns.on_order_delivered",
    "log-user-profile-update": "campaigns.accrual.handlers.on_profile_update",
    "log-user-login": "campaigns.accrual.handlers.on_login",
    "reward-claimed": "campaigns.accrual.handlers.on_reward_claimed",
    "member-welcome": "campaigns.accrual.handlers.on_welcome",
    "member-birthday": "campaigns.accrual.handlers.on_birthday",
    "referral-action": "loyalty.referrals.handlers.on_referral_action",
    "referral-returned": "loyalty.referrals.handlers.on_referral_returned",
    "announce": "loyalty.integrations.webhook_events.on_webhook_event",
    "call-webhook": "loyalty.integrations.webhook_delivery.on_call_webhook",
    "balance-changed": "loyalty.wallets.handlers.on_balance_changed",
    "refresh-pass": "loyalty.wallets.handlers.on_refresh_pass",
    "expire-pass": "loyalty.wallets.handlers.on_expire_pass",
    "erase-events": "events.erasure.on_erase_events",
    "notify": "loyalty.notifications.batching.on_notify",
    "send-notice": "loyalty.notifications.delivery.on_send_notification",
    "send-email": "loyalty.notifications.delivery.on_deliver",
    "send-sms": "loyalty.notifications.delivery.on_deliver",
    "send-push": "loyalty.notifications.delivery.on_deliver",
    "send-broadcast": "loyalty.notifications.delivery.on_send_notification",
    "broadcast-email": "loyalty.notifications.delivery.on_deliver",
    "broadcast-sms": "loyalty.notifications.delivery.on_deliver",
    "broadcast-push": "loyalty.notifications.delivery.on_deliver",
    "account-mail": "loyalty.members.account_mail.on_account_mail",
    "release-opening-balances": "loyalty.members.moving_in.opening_balances.on_release",
    "check-sender-domain": "loyalty.notifications.sender_domains.on_check",
}
# The handler of waiting events of all other kinds, which brands have registered; and the function that returns the
# names of all these kinds.
OWN_KIND_HANDLER = "campaigns.accrual.own_kinds.on_own_kind"
OWN_KIND_NAMES = "campaigns.intake.own_kinds.names"
# By kind of event: a function of payload, brand, user and moment that returns the action as earning rules see it.
EVENT_CONTEXTS = {
    "scan-auth": "authcodes.scanning.scan_events.context_of",
    "order-complete": "campaigns.accrual.handlers.order_context",
    "log-user-profile-update": "campaigns.accrual.handlers.profile_context",
    "log-user-login": "campaigns.accrual.handlers.login_context",
    "member-welcome": "campaigns.accrual.handlers.welcome_context",
    "member-birthday": "campaigns.accrual.handlers.birthday_context",
}
# The same for many past actions, in a few statements: a function of the brand's ID, the replay's past actions, and the
# brand's ceiling at each.
REPLAY_CONTEXTS = {"scan-auth": "authcodes.scanning.scan_events.past_scans"}
# A worker delivers all its events of these kinds at once.
EVENT_BATCH_HANDLERS = {
    "scan-auth": "authcodes.scanning.scan_events.on_scan_auth_batch",
    "reward-claimed": "campaigns.accrual.handlers.on_reward_claimed_batch",
}
# Kinds that follow from others and whose handlers call other servers have lanes of their own, so that a receiver that
# hangs does not delay points. They are deleted EVENT_LOG_DAYS after they end. The queue `outgoing` serves all of these
# lanes; OUTGOING_WORKERS is how many workers deliver one lane at a time.
EVENT_LANES = {
    "announce": "announce",
    "call-webhook": "webhooks",
    "balance-changed": "wallets",
    "refresh-pass": "wallets",
    "expire-pass": "wallets",
    "erase-events": "announce",
    "notify": "notices",
    "send-notice": "notices",
    "send-email": "email",
    "send-sms": "sms",
    "send-push": "push",
    # A broadcast must not delay a recall or a password mail.
    "send-broadcast": "broadcasts",
    "broadcast-email": "broadcasts",
    "broadcast-sms": "broadcasts",
    "broadcast-push": "broadcasts",
    "account-mail": "email",
    "check-sender-domain": "domains",
}

# --- Persons ---------------------------------------------------------------------------------------------------------
# Name -> `core.personal_data.Topic`, in the order of export and erasure.
PERSONAL_DATA = {
    "scans": "authcodes.personal_data.SCANS",
    "lookups": "authcodes.personal_data.LOOKUPS",
    "fake_reports": "authcodes.personal_data.FAKE_REPORTS",
    "invitations": "brands.personal_data.INVITATIONS",
    "answers": "brands.personal_data.ANSWERS",
    "saved_lists": "brands.personal_data.SAVED_LISTS",
    "undo_offers": "brands.personal_data.UNDO_OFFERS",
    "report_schedules": "jobs.personal_data.REPORT_SCHEDULES",
    "notices": "loyalty.personal_data.NOTIFICATIONS",
    "wallets": "loyalty.personal_data.WALLETS",
    "webhooks": "loyalty.personal_data.WEBHOOKS",
    "consents": "loyalty.personal_data.CONSENTS",
    "campaigns": "campaigns.personal_data.CAMPAIGNS",
    "segments": "campaigns.personal_data.SEGMENTS",
    "birthday": "loyalty.personal_data.BIRTHDAY",
    "referrals": "loyalty.personal_data.REFERRALS",
    "loyalty": "loyalty.personal_data.ACCOUNT",
}
# Name -> `loyalty.merges.parts.MergePart`: what else moves when two accounts of one person are merged, in this order.
ACCOUNT_MERGES = {"progress": "campaigns.progress.merging.PROGRESS"}
# `portal.timeline.sources.TimelineSource`: the sources of a customer's timeline, in the order of its chips.
CUSTOMER_TIMELINE = [
    "loyalty.admin.member_page.points_lines.POINTS",
    "authcodes.admin.codes.customer_scans.SCANS",
    "loyalty.admin.member_page.other_lines.REWARDS",
    "campaigns.admin.reward_claims.WINS",
    "loyalty.admin.member_page.points_lines.LEVELS",
    "loyalty.admin.member_page.other_lines.MESSAGES",
    "loyalty.admin.member_page.other_lines.CARDS",
    "loyalty.admin.member_page.other_lines.REFERRALS",
    "loyalty.admin.member_page.other_lines.MERGES",
    "portal.timeline.staff_acts.STAFF_ACTS",
]
# A customer's progress in a brand's campaigns, for the customer's page.
CUSTOMER_CAMPAIGNS = "campaigns.admin.progress.of_customer"
# A CTE of customers who scanned since a moment, for sorting the list of members.
MEMBERS_SEEN = "authcodes.rollups.seen.SEEN"

# --- Undo ------------------------------------------------------------------------------------------------------------
# Name -> `portal.undo.offers.UndoKind`: what the Undo button of a message does.
UNDO_KINDS = {
    "codes": "authcodes.admin.codes.undo.CODES",
    "code-range": "authcodes.admin.codes.undo.RANGE",
    "import": "authcodes.admin.codes.undo.IMPORT",
    "campaign": "campaigns.admin.campaign_page.undo.CAMPAIGN",
    "earning-rule": "campaigns.admin.rules.undo.RULE",
    "members": "loyalty.admin.member_actions.undo.MEMBERS",
    "member-note": "loyalty.admin.member_page.undo.NOTE",
    "redemption": "loyalty.admin.member_page.undo.REDEMPTION",
    "switch-authcodes.product": "authcodes.admin.products.SWITCH",
    "switch-loyalty.reward": "loyalty.admin.rewards.SWITCH",
}

# --- Jobs ------------------------------------------------------------------------------------------------------------
# Called with each job that ends, in the same transaction.
JOB_END_HANDLERS = ["loyalty.integrations.webhook_jobs.on_job_end"]
# `jobs.kinds.JobKind`, in the order of the filter on the jobs' page.
JOB_KINDS = [
    "authcodes.codes.batches.GENERATION",
    "authcodes.codes.bulk_changes.CHANGE",
    "authcodes.imports.uploads.CHECK",
    "authcodes.imports.commit.COMMIT",
    "authcodes.imports.commit.UNDO",
    "portal.import_export.large_files.CHECK",
    "portal.import_export.large_files.IMPORT",
    "authcodes.admin.list_export.SCANS",
    "authcodes.admin.list_export.UNSCANNED",
    "authcodes.admin.list_export.CODES",
    "authcodes.admin.list_export.BATCHES",
    "authcodes.admin.list_export.PRODUCTS",
    "authcodes.admin.list_export.MEMBERS",
    "authcodes.admin.list_export.LEDGER",
    "authcodes.admin.list_export.REDEMPTIONS",
    "authcodes.admin.list_export.REFERRALS",
    "authcodes.admin.list_export.CLAIMS",
    "authcodes.admin.list_export.PROGRESS",
    "authcodes.admin.list_export.AUDIT",
    "authcodes.recalls.affected.EXPORT",
    "authcodes.recalls.affected.TO_CALL_EXPORT",
    "authcodes.data_exports.EXPORT",
    "authcodes.recalls.notifications.NOTIFICATION",
    "authcodes.printing.runs.BATCH_PRINT",
    "authcodes.admin.printing.list_print.LIST_PRINT",
    "campaigns.replay.jobs.REPLAY",
    "campaigns.broadcasts.sending.SENDING",
]

# --- Reference data in and out ---------------------------------------------------------------------------------------
# `portal.import_export.resource.TenantResource`, by their names in the API's addresses.
IMPORT_RESOURCES = {
    "products": "authcodes.admin.resources.ProductResource",
    "printers": "authcodes.admin.resources.PrinterResource",
    "levels": "loyalty.admin.resources.LevelResource",
    "rewards": "loyalty.admin.resources.RewardResource",
    "partner-codes": "loyalty.admin.partner_codes.resource.PoolCodeResource",
    "members": "loyalty.admin.members.resource.MemberResource",
    "notification-templates": "loyalty.admin.resources.NotificationTemplateResource",
    "earning-rules": "campaigns.admin.rules.earning_rule_resource.EarningRuleResource",
    "campaigns": "campaigns.admin.resources.CampaignResource",
}

# --- Webhooks --------------------------------------------------------------------------------------------------------
# `OpenApiWebhook`, in the order of the API's description.
WEBHOOKS = [
    "loyalty.api.webhooks.POINTS_EARNED",
    "loyalty.api.webhooks.POINTS_ADJUSTED",
    "loyalty.api.webhooks.POINTS_EXPIRED",
    "loyalty.api.webhooks.POINTS_RETURNED",
    "loyalty.api.webhooks.POINTS_TRANSFERRED",
    "loyalty.api.webhooks.POINTS_REVERSED",
    "loyalty.api.webhooks.POINTS_PENDING",
    "loyalty.api.webhooks.POINTS_RELEASED",
    "loyalty.api.webhooks.LEVEL_REACHED",
    "loyalty.api.webhooks.LEVEL_RENEWED",
    "loyalty.api.webhooks.LEVEL_LOWERED",
    "loyalty.api.webhooks.REWARD_REDEEMED",
    "loyalty.api.webhooks.REWARD_USED",
    "loyalty.api.webhooks.REWARD_CANCELLED",
    "loyalty.api.webhooks.MEMBER_ENROLLED",
    "loyalty.api.webhooks.MEMBER_BLOCKED",
    "loyalty.api.webhooks.MEMBER_UNBLOCKED",
    "loyalty.api.webhooks.MEMBER_CHANGED",
    "loyalty.api.webhooks.MEMBER_MERGED",
    "loyalty.api.webhooks.MEMBER_UNMERGED",
    "loyalty.api.webhooks.MEMBER_ERASED",
    "authcodes.api.webhooks.CODE_SCANNED",
    "authcodes.api.webhooks.CODES_DEACTIVATED",
    "authcodes.api.webhooks.CODES_REACTIVATED",
    "authcodes.api.webhooks.BATCH_RECALLED",
    "loyalty.api.webhooks.JOB_FINISHED",
    "loyalty.api.webhooks.WEBHOOK_TEST",
]
