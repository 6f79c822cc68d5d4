"""Examples in the API's description: requests and answers of one made-up brand. A test holds them to the schema."""

from typing import Any

Examples = dict[str, dict[str, Any]]

REQUEST_ID = "0f5a3c0c7f5b4a3f9f3a2f4f8f5d2c11"
SCAN_ID = "01985e9c-6d3a-7c41-9f0e-0d9a5c1b7e42"
EVENT_ID = "3c4f2a1e-9d7b-4f60-8a3e-2b1c0d9e8f7a"
ACCESS = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2VyX2lkIjo0MiwiYnJhbmRfaWQiOjd9.c2lnbmF0dXJl"
REFRESH = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzaWQiOiJiMmYzIn0.c2lnbmF0dXJl"
WHEN = "2026-03-14T09:26:53.589Z"

PRODUCT = {"id": "311", "name": "Alpine Jacket", "sku": "ALP-311"}
PLACE = {"latitude": 46.948, "longitude": 7.4474}
ORDER = {
    "orderId": "SO-2026-00017",
    "currency": "CHF",
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


LOG_IN = {"email": "ada@example.com", "password": "a long pass phrase", "brand_id": 7}

REQUESTS: Examples = {
    "log_in": {
        "At a brand": LOG_IN,
        "By the app's key or hostname": {"email": "ada@example.com", "password": "a long pass phrase"},
    },
    "refresh_tokens": {"A refresh token": {"refresh": REFRESH}},
    "log_out": {"A refresh token": {"refresh": REFRESH}},
    "register": {"A new customer": {**LOG_IN, "first_name": "Ada", "last_name": "Lovelace"}},
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
    "validate_code": {
        "A code": {"code": "ALP0000004711"},
        "By a hub, for a customer": {"code": "ALP0000004711", "customer_id": "42"},
    },
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
}
SCANS = {
    "Genuine": GENUINE,
    "Scanned as often as it may be": SEEN_BEFORE,
    "Recalled": {**SEEN_BEFORE, "reason": "recalled", "message": RECALL["message"], "recall": RECALL},
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
IMAGES = "https://alpine.example.com/api/v1/qr-codes"
LAST_PAGE = {"limit": 50, "next": None, "has_more": False}

ANSWERS: Examples = {
    "log_in": {"Tokens": TOKENS},
    "refresh_tokens": {"Tokens": TOKENS},
    "register": {"Registered": {"success": True, "user_id": 42}},
    "verify_product": SCANS,
    "scan_code": {**SCANS, "Genuine, scanned by a guest": BY_A_GUEST},
    "validate_code": {
        "A good code": {"valid": True, "product": PRODUCT, "points_awarded": 50, "scan_count": 0, "first_scan": True},
        "No good code": {"valid": False, "product": None, "points_awarded": 0, "scan_count": 0, "first_scan": False},
    },
    "read_scan": {
        "Credited": {
            "success": True,
            "scan_id": SCAN_ID,
            "status": "success",
            "points_status": "awarded",
            "points_awarded": 50,
            "timestamp": WHEN,
            "location": "Bern, Canton of Bern",
        }
    },
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
                "points_earned": 520,
                "points_redeemed": 200,
                "points_expired": 0,
                "current_level": "Silver",
                "next_level": "Gold",
                "next_level_threshold": 1000,
                "enrolled": True,
            },
        }
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
    "list_code_scans": {
        "The only page": {
            "code": "ALP0000004711",
            "product": "Alpine Jacket",
            "total_scans": 1,
            "scans": [
                {
                    "scan_id": SCAN_ID,
                    "customer_email": "ada@example.com",
                    "timestamp": WHEN,
                    "location": "Bern, Canton of Bern",
                    "points_awarded": 50,
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
            },
        }
    },
}

# `details` of an error, by its code, or by endpoint and code.
DETAILS: dict[Any, dict[str, Any]] = {
    "VALIDATION_ERROR": {"fields": {"brand_id": ["This field is required."]}},
    "RATE_LIMITED": {"retry_after": 17},
    ("check_ready", "UNAVAILABLE"): {
        "checks": {
            "database": {"status": "ok"},
            "redis": {"status": "ok"},
            "broker": {"status": "failing"},
            "events": {"status": "failing", "oldest_seconds": 912, "limit_seconds": 300},
        }
    },
}
