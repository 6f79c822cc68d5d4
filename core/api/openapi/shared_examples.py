"""Examples in the API's description: requests and answers of one made-up brand. A test holds them to the schema."""

from typing import Any

Examples = dict[str, dict[str, Any]]

REQUEST_ID = "0f5a3c0c7f5b4a3f9f3a2f4f8f5d2c11"
SCAN_ID = "01985e9c-6d3a-7c41-9f0e-0d9a5c1b7e42"
EVENT_ID = "3c4f2a1e-9d7b-4f60-8a3e-2b1c0d9e8f7a"
ACCESS = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2VyX2lkIjo0MiwiYnJhbmRfaWQiOjd9.c2lnbmF0dXJl"
REFRESH = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzaWQiOiJiMmYzIn0.c2lnbmF0dXJl"
PROOF = "1w1K0v:c2lnbmF0dXJlIG9mIHRoZSBzY2Fu"
WHEN = "2026-03-14T09:26:53.589Z"

CODE = "7KQ2-M4XW-0TBH-9ZC0"
PRODUCT = {"id": "311", "name": "Alpine Jacket", "sku": "ALP-311"}
PLACE = {"latitude": 46.948, "longitude": 7.4474}
ORDER = {
    "orderId": "SO-2026-00017",
    "currency": "EUR",
    "subtotal": 249.9,
    "discount": 20,
    "total": 247.6,
    "items": [{"productId": 311, "sku": "ALP-311", "quantity": 1, "unitPrice": 249.9}],
}
SCANNED_PRODUCT = {"productId": 311, "authCode": "ALP0000004711", "title": "Alpine Jacket", "retailPrice": 249.9}


def action(kind: str, **payload: Any) -> dict[str, Any]:
    return {"user_id": 42, "brand_id": 7, "type": kind, **payload}


def event(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The envelope of an event; the token may be left out."""
    return {
        "version": "0",
        "id": EVENT_ID,
        "detail-type": kind,
        "source": "shop.customer-app",
        "account": "123456789012",
        "time": "2026-03-14T09:26:53Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "arguments": {"brand_id": 7, "user_id": 42, "authorization": f"Bearer {ACCESS}"},
            "payload": payload,
        },
    }


LINK_TOKEN = "eyJ1Ijo0MiwicCI6IjBhMWIyYzNkIn0:1wAbCd:8sT2hPqL0vYkE3mZ5rXnB7uJ1oWcQ9aF4dGiH6tKpVs"  # noqa: S105 - made up
LOG_IN = {"email": "ada@example.com", "password": "a long pass phrase", "brand_id": 7}

REQUESTS: Examples = {
    "log_in": {
        "At a brand": LOG_IN,
        "By the app's key or hostname": {"email": "ada@example.com", "password": "a long pass phrase"},
    },
    "refresh_tokens": {"A refresh token": {"refresh": REFRESH}},
    "log_out": {"A refresh token": {"refresh": REFRESH}},
    "register": {"A new customer": {**LOG_IN, "first_name": "Ada", "last_name": "Lovelace"}},
    "confirm_registration": {
        "By the code": {"registration_id": SCAN_ID, "code": "048 213"},
        "By the link": {"token": LINK_TOKEN, "password": "a long pass phrase"},
    },
    "confirm_email": {"By the code": {"code": "048 213"}, "By the link": {"token": LINK_TOKEN}},
    "forgot_password": {"At a brand": {"email": "ada@example.com", "brand_id": 7}},
    "reset_password": {"From the link": {"token": LINK_TOKEN, "password": "another long pass phrase"}},
    "register_device": {"An Android phone": {"token": "fY3kQ9xTRk2:APA91bH8", "platform": "android"}},
    "verify_product": {
        "With the place": PLACE,
        "With its name": {**PLACE, "city": "Bern", "region": "Canton of Bern"},
        "Without": {},
    },
    "scan_code": {
        "By a guest or customer": {
            "code": "ALP0000004711",
            "location": PLACE,
            "device": "Pixel 9",
            "app_version": "3.1",
        },
        "A scanned address": {"code": "https://alpine.example.com/s/ALP0000004711"},
        "By a hub, for a customer": {"code": "ALP0000004711", "customer_id": "42"},
    },
    "check_redemption": {"A code": {"code": CODE}},
    "erase_me": {"The password": {"password": "a long pass phrase"}},
    "change_profile": {
        "Some of it": {"first_name": "Ada", "language": "de", "notifications": {"offers": {"push": False}}},
    },
    "correct_member": {
        "The name": {"first_name": "Ada", "last_name": "Lovelace", "reason": "Spelt wrong in our shop system"},
        "The address": {"email": "ada@lovelace.example", "reason": "Ticket 4711"},
    },
    "change_email": {"Another address": {"email": "ada@lovelace.example"}},
    "confirm_email_change": {"By the link": {"token": "eyJjIjoiMCJ9:1rk2xM:8sVf", "password": "a long pass phrase"}},
    "report_fake": {
        "A shop": {
            "code": "ALP0000004711",
            "place": "Market stall, Kreuzberg",
            "remark": "The print is blurred.",
            "contact": "ada@example.com",
        }
    },
    "use_redemption": {"A code": {"code": CODE}},
    "validate_code": {
        "A code": {"code": "ALP0000004711"},
        "By a hub, for a customer": {"code": "ALP0000004711", "customer_id": "42"},
    },
    "adopt_scan": {"A guest's scan": {"scan_token": PROOF}},
    "place_scan": {"By the customer": PLACE, "By the guest": {**PLACE, "scan_token": PROOF}},
    "credit_action": {
        "A scan": action("authenticator_scan", product={"authCode": "ALP0000004711"}),
        "A scan with the hub's facts": action(
            "authenticator_scan", product={**SCANNED_PRODUCT, "redeem_point_value": 50}
        ),
        "An order (hub)": action("order", order=ORDER),
        "A completed profile (hub)": action("profile", changedFields=["birthday"], completedFields=["birthday"]),
        "A login (hub)": action("login", sessionId="b2f3", channel="web"),
    },
    "ingest_event": {
        "scan-auth": event(
            "scan-auth",
            {
                "type": "authenticator_scan",
                "product": SCANNED_PRODUCT,
                "location": {**PLACE, "city": "Bern", "region": "Canton of Bern"},
                "timestamp": WHEN,
            },
        ),
        "order-complete": event("order-complete", {"type": "order", "order": ORDER, "timestamp": WHEN}),
        "log-user-profile-update": event(
            "log-user-profile-update",
            {"type": "profile", "changedFields": ["birthday"], "completedFields": ["birthday"]},
        ),
        "log-user-login": event("log-user-login", {"type": "login", "sessionId": "b2f3", "channel": "web"}),
    },
}

TOKENS = {
    "access": ACCESS,
    "refresh": REFRESH,
    "token_type": "Bearer",
    "expires_in": 900,
    "user_id": 42,
    "brand_id": 7,
}
GENUINE = {
    "success": True,
    "status": "success",
    "scan_id": SCAN_ID,
    "reason": "accepted",
    "points_status": "pending",
    "product": PRODUCT,
    "points_awarded": 50,
    "message": "Genuine product. Your points are on their way.",
    "scan_count": 1,
    "first_scan": True,
}
SEEN_BEFORE = {
    **GENUINE,
    "status": "warning",
    "reason": "limit_reached",
    "points_status": "not_eligible",
    "points_awarded": 0,
    "message": "This code has already been scanned.",
    "first_scan": False,
    "first_scan_date": WHEN,
    "first_scan_location": "Bern, Canton of Bern",
}
RECALL = {
    "id": "R-2026-03",
    "contact": "recall@example.com",
    "message": "Stop using this jacket and bring it back to the shop.",
}
BY_A_GUEST = {
    **GENUINE,
    "points_status": "guest",
    "points_awarded": 0,
    "points_available": 50,
    "message": "Genuine product. Log in to earn points.",
    "scan_token": PROOF,
}
SCANS = {
    "Genuine": GENUINE,
    "Scanned as often as it may be": SEEN_BEFORE,
    "Recalled": {**SEEN_BEFORE, "reason": "recalled", "message": RECALL["message"], "recall": RECALL},
}
STATE = {
    "success": True,
    "scan_id": SCAN_ID,
    "status": "success",
    "points_status": "awarded",
    "points_awarded": 50,
    "timestamp": WHEN,
    "location": "Bern, Canton of Bern",
}
PROGRESS = {
    "campaign_id": 5,
    "campaign_name": "Ten scans",
    "progress": 3,
    "target": 10,
    "milestone_achieved": False,
    "next_reward": "A mug",
}
CREDITED = {
    "points_earned": 50,
    "new_balance": 320,
    "transaction_id": "90210",
    "campaign_progress": PROGRESS,
    "campaigns": [PROGRESS],
    "level_updated": True,
    "current_level": "Silver",
    "next_level_threshold": 1000,
}
CUT = {
    "points_earned": 20,
    "new_balance": 340,
    "transaction_id": "90211",
    "level_updated": False,
    "current_level": "Silver",
    "next_level_threshold": 1000,
    "limit": {"period": "day", "max": 100, "used": 80, "resets_at": "2026-03-15T00:00:00.000Z"},
}
WANTED = {"email": True, "sms": True, "push": False}
PROFILE = {
    "user_id": 42,
    "email": "ada@example.com",
    "first_name": "Ada",
    "last_name": "Lovelace",
    "phone": "+4930123456",
    "language": "de",
    "notifications": {"points": WANTED, "offers": WANTED, "safety": WANTED},
}
STANDING = {
    "campaign_id": 5,
    "campaign_name": "Ten scans",
    "type": "authenticator_scan",
    "progress": 3,
    "target": 10,
    "ends_at": None,
    "milestones": [
        {
            "milestone_id": 8,
            "threshold": 3,
            "reward_name": "A sticker",
            "achieved": True,
            "claimed": False,
            "claimable": True,
        },
        {
            "milestone_id": 9,
            "threshold": 10,
            "reward_name": "A mug",
            "achieved": False,
            "claimed": False,
            "claimable": False,
        },
    ],
    "next_reward": "A mug",
}
MUG = {
    "id": 12,
    "name": "Enamel mug",
    "description": "With the brand's mountain.",
    "cost": 250,
    "stock": 17,
    "limit_per_member": 2,
    "taken": 0,
    "valid_from": None,
    "valid_until": "2026-12-31T23:00:00.000Z",
    "level": "Silver",
    "available": True,
    "reason": None,
    "missing": None,
}
BAG = {
    **MUG,
    "id": 11,
    "name": "Dry bag",
    "cost": 900,
    "stock": None,
    "available": False,
    "reason": "NOT_ENOUGH_POINTS",
    "missing": 580,
}
REDEEMED = {"redemption_id": 4711, "code": CODE, "cost": 250, "new_balance": 70, "expires_at": WHEN, "undo_until": WHEN}
UNDONE = {"redemption_id": 4711, "points": 250, "new_balance": 320}
CLAIMED = {"milestone_id": 8, "reward_name": "A sticker", "points": 0, "redemption_id": 4712, "code": CODE}
GOOD = {"state": "good", "created_at": WHEN, "expires_at": WHEN, "used_at": None}
AT_THE_TILL = {
    "redemption_id": 4711,
    "name": "Enamel mug",
    "cost": 250,
    "member": "A••• L•••, a•••@example.com",
}
IMAGES = "https://alpine.example.com/api/v1/qr-codes"
LAST_PAGE = {"limit": 50, "next": None, "has_more": False}

ANSWERS: Examples = {
    "log_in": {"Tokens": TOKENS},
    "refresh_tokens": {"Tokens": TOKENS},
    "register": {
        "Whether the address is known or not": {
            "success": True,
            "user_id": 42,
            "registration_id": SCAN_ID,
            "expires_at": WHEN,
        },
        "Where no address is confirmed": {
            "success": True,
            "user_id": 42,
            "registration_id": None,
            "expires_at": None,
        },
    },
    "confirm_registration": {"Begun": TOKENS},
    "send_email_verification": {"Sent": {"success": True, "email_verified_at": None}},
    "confirm_email": {"Proved": {"success": True, "email_verified_at": WHEN}},
    "forgot_password": {"Whether the address is known or not": {"success": True}},
    "reset_password": {"Set": {"success": True}},
    "verify_product": SCANS,
    "scan_code": {**SCANS, "Genuine, scanned by a guest": BY_A_GUEST},
    "validate_code": {
        "A good code": {
            "valid": True,
            "product": PRODUCT,
            "points_awarded": 50,
            "scan_count": 0,
            "first_scan": True,
            "status": "success",
            "reason": "accepted",
            "points_status": "pending",
        },
        "No good code": {
            "valid": False,
            "product": None,
            "points_awarded": 0,
            "scan_count": 0,
            "first_scan": False,
            "status": "error",
            "reason": None,
            "points_status": "not_eligible",
        },
    },
    "read_scan": {"Credited": STATE},
    "adopt_scan": {"Its points follow": {**STATE, "points_status": "pending", "points_awarded": 0}},
    "place_scan": {"Noted": STATE},
    "credit_action": {
        "Credited": {"success": True, "message": "50 points credited.", "data": CREDITED},
        "Cut by a limit": {
            "success": True,
            "message": "The point limit of this day is reached; 20 points credited.",
            "data": CUT,
        },
    },
    "ingest_event": {
        "Taken in": {"event_id": EVENT_ID, "status": "accepted"},
        "Known already": {"event_id": EVENT_ID, "status": "duplicate"},
    },
    "read_points": {
        "A member": {
            "success": True,
            "data": {
                "points": 320,
                "lifetime": 520,
                "redeemed": 200,
                "expired": 0,
                "level": "Silver",
                "next_level": {"name": "Gold", "threshold": 1000, "missing": 480},
                "expiring_soon": {"points": 40, "on": "2026-04-01"},
                "enrolled": True,
            },
        }
    },
    "register_device": {
        "Registered": {"success": True, "data": {"platform": "android", "registered_at": WHEN}},
    },
    "list_transactions": {
        "The only page": {
            "success": True,
            "data": [
                {
                    "loyalty_transaction_id": 90210,
                    "reason": "earned",
                    "reason_id": "ALP0000004711",
                    "points_earned": 50,
                    "points_redeemed": 0,
                    "points_expired": 0,
                    "note": "Points for scanning Alpine Jacket",
                    "createdAt": WHEN,
                }
            ],
            "pagination": LAST_PAGE,
        }
    },
    "read_profile": {"A customer": {"success": True, "data": PROFILE}},
    "change_profile": {"Changed": {"success": True, "data": PROFILE}},
    "list_campaigns": {"One campaign": {"success": True, "data": [STANDING]}},
    "list_rewards": {"The only page": {"success": True, "data": [MUG, BAG], "pagination": LAST_PAGE}},
    "list_wallets": {"Both": {"success": True, "data": {"apple": True, "google": True}}},
    "read_google_pass": {
        "A link": {
            "success": True,
            "data": {"save_url": "https://pay.google.com/gp/v/save/eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJnb29nbGUifQ.c2ln"},
        }
    },
    "redeem_reward": {"Redeemed": {"success": True, "data": REDEEMED}},
    "enrol_member": {
        "Enrolled": {
            "success": True,
            "data": {"user_id": 42, "user_point_id": 7, "enrolled_at": WHEN, "created": True},
        }
    },
    "correct_member": {
        "Not confirmed yet": {
            "success": True,
            "data": {
                "user_id": 42,
                "first_name": "Ada",
                "last_name": "Lovelace",
                "email": "ada@example.com",
                "unconfirmed_email": "ada@lovelace.example",
            },
        }
    },
    "change_email": {"Link queued": {"success": True, "expires_at": WHEN}},
    "confirm_email_change": {"Changed": {"success": True}},
    "report_fake": {"Reported": {"success": True, "report_id": 12}},
    "undo_redemption": {"Given back": {"success": True, "data": UNDONE}},
    "claim_reward_by_old_path": {"A thing": {"success": True, "data": CLAIMED}},
    "claim_reward": {
        "A thing": {"success": True, "data": CLAIMED},
        "Points": {"success": True, "data": {**CLAIMED, "points": 100, "redemption_id": None, "code": None}},
    },
    "list_redemptions": {
        "The only page": {
            "success": True,
            "data": [
                {
                    "redemption_id": 4711,
                    "reward_id": 12,
                    "milestone_id": None,
                    "name": "Enamel mug",
                    "cost": 250,
                    "code": CODE,
                    **GOOD,
                    "undo_until": None,
                }
            ],
            "pagination": LAST_PAGE,
        }
    },
    "check_redemption": {"Good": {"success": True, "data": {**AT_THE_TILL, **GOOD}}},
    "use_redemption": {"Used": {"success": True, "data": {**AT_THE_TILL, **GOOD, "state": "used", "used_at": WHEN}}},
    "list_code_scans": {
        "The only page": {
            "code": "ALP0000004711",
            "product": "Alpine Jacket",
            "total_scans": 1,
            "accepted_scans": 1,
            "scans": [
                {
                    "scan_id": SCAN_ID,
                    "customer_email": "ada@example.com",
                    "timestamp": WHEN,
                    "location": "Bern, Canton of Bern",
                    "points_awarded": 50,
                    "outcome": "success",
                    "reason": "accepted",
                }
            ],
            "pagination": LAST_PAGE,
        }
    },
    "list_qr_codes": {
        "A batch of two": [
            f"{IMAGES}/ALP0000004711.png?permission=1w1K0v:c2lnbmF0dXJl",
            f"{IMAGES}/ALP0000004712.png?permission=1w1K0v:c2lnbmF0dXJm",
        ]
    },
    "check_alive": {"Alive": {"status": "ok"}},
    "check_ready": {
        "Ready": {
            "status": "ok",
            "checks": {
                "database": {"status": "ok"},
                "redis": {"status": "ok"},
                "broker": {"status": "ok"},
                "events": {"status": "ok", "oldest_seconds": 0, "limit_seconds": 300},
                "jobs": {"status": "ok", "waiting_seconds": 0, "limit_seconds": 120},
            },
        }
    },
}
