"""What lower apps call in higher ones, as dotted paths: handlers, jobs, a person's data, panels."""

CELERY_TASK_ROUTES = {
    "jobs.tasks.run_job": {"queue": "work"},
    "events.tasks.sweep": {"queue": "events"},
    "events.tasks.deliver_due": {"queue": "events"},
    # What calls the workers of `work` waits for none of them.
    "jobs.tasks.resume_jobs": {"queue": "regular"},
}

# --- Events ----------------------------------------------------------------------------------------------------------
EVENT_HANDLERS = {
    "scan-auth": "authcodes.scanning.scan_events.on_scan_auth",
    "order-complete": "campaigns.accrual.handlers.on_order_complete",
    "log-user-profile-update": "campaigns.accrual.handlers.on_profile_update",
    "log-user-login": "campaigns.accrual.handlers.on_login",
    "reward-claimed": "campaigns.accrual.handlers.on_reward_claimed",
    "announce": "loyalty.integrations.webhook_events.on_announce",
    "call-webhook": "loyalty.integrations.webhook_delivery.on_call_webhook",
    "balance-changed": "loyalty.wallets.handlers.on_balance_changed",
    "refresh-pass": "loyalty.wallets.handlers.on_refresh_pass",
    "expire-pass": "loyalty.wallets.handlers.on_expire_pass",
    "erase-events": "events.erasure.on_erase_events",
    "notify": "loyalty.notifications.batching.on_notify",
    "send-notice": "loyalty.notifications.delivery.on_send_notice",
    "send-email": "loyalty.notifications.delivery.on_deliver",
    "send-sms": "loyalty.notifications.delivery.on_deliver",
    "send-push": "loyalty.notifications.delivery.on_deliver",
    "account-mail": "loyalty.notifications.account_mail.on_account_mail",
    "check-sender-domain": "loyalty.notifications.sender_domains.on_check",
}
# Of these kinds a worker delivers all that it holds at once.
EVENT_BATCH_HANDLERS = {"scan-auth": "authcodes.scanning.scan_events.on_scan_auth_batch"}
# Kinds that follow from others and whose handlers call somebody else wait in lanes of their own, so that a receiver
# that hangs holds up no points. Once over they are forgotten after EVENT_LOG_DAYS.
# The queue `outgoing` stands for all of them; OUTGOING_WORKERS is how many deliver one lane at a time.
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
    "account-mail": "email",
    "check-sender-domain": "domains",
}

# --- Persons ---------------------------------------------------------------------------------------------------------
# Name -> `core.personal_data.Topic`, in the order in which they are exported and erased.
PERSONAL_DATA = {
    "scans": "authcodes.personal_data.SCANS",
    "lookups": "authcodes.personal_data.LOOKUPS",
    "fake_reports": "authcodes.personal_data.FAKE_REPORTS",
    "invitations": "brands.personal_data.INVITATIONS",
    "notices": "loyalty.personal_data.NOTIFICATIONS",
    "wallets": "loyalty.personal_data.WALLETS",
    "webhooks": "loyalty.personal_data.WEBHOOKS",
    "consents": "loyalty.personal_data.CONSENTS",
    "campaigns": "campaigns.personal_data.CAMPAIGNS",
    "loyalty": "loyalty.personal_data.ACCOUNT",
}
CUSTOMER_PANELS = {
    "loyalty.loyaltytransaction": "loyalty.admin.ledger.panel",
    "campaigns.userloyaltycampaign": "campaigns.admin.progress.panel",
    "authcodes.scan": "authcodes.admin.scans.panel",
}

# --- Jobs ------------------------------------------------------------------------------------------------------------
JOB_HANDLERS = {
    "generate": "authcodes.codes.batches.run_generation",
    "change-codes": "authcodes.codes.bulk_changes.run_change",
    "check-import": "authcodes.imports.uploads.run_check",
    "commit-import": "authcodes.imports.commit.run_commit",
    "undo-import": "authcodes.imports.commit.run_undo",
    "export-scans": "authcodes.admin.list_export.run",
    "export-unscanned": "authcodes.admin.list_export.run",
    "export-codes": "authcodes.admin.list_export.run",
    "export-batches": "authcodes.admin.list_export.run",
    "export-products": "authcodes.admin.list_export.run",
    "export-members": "authcodes.admin.list_export.run",
    "export-ledger": "authcodes.admin.list_export.run",
    "export-redemptions": "authcodes.admin.list_export.run",
    "export-claims": "authcodes.admin.list_export.run",
    "export-progress": "authcodes.admin.list_export.run",
    "export-audit": "authcodes.admin.list_export.run",
    "export-affected": "authcodes.recalls.affected.run_affected",
    "export-customer-data": "authcodes.data_exports.run",
    "notify-recall": "authcodes.recalls.notifications.run",
    "print-batch": "authcodes.printing.runs.run_batch",
    "print-list": "authcodes.admin.printing.list_print.run_list",
}
