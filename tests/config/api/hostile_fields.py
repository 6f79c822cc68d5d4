"""The values that each field of each endpoint must reject; a new endpoint needs an entry in FIELDS."""

from tests.support.endpoints import (
    RECALL,
)

NOT_AN_OBJECT = [None, 5, 1.5, True, "{}", [], [{}]]
NOT_A_LIST = [None, 5, True, "a", {}]
NOT_TEXT = [None, 5, 1.5, True, [], ["a"], {}, {"a": 1}]
EMPTY = ["", " ", "\t\n"]
NOT_A_NUMBER = ["5", "", "NaN", "1e3", True, False, [], [5], {}]
NOT_WHOLE = [1.5, -0.5, 1e300]
NOT_AN_ID = [0, -1, -(2**31), -(2**63) + 1]
NOT_AN_AMOUNT = [-0.01, 1e10, 1e300, 0.00001, 123456789.123456]
NOT_A_MOMENT = ["", "yesterday", "2026-13-01T00:00:00Z", "2026-02-30", "0001-01-01T00:00:00+23:59", "1e5", "٢٠٢٦-01-01"]
TEXT = [*NOT_TEXT, *EMPTY, "x" * 100_000]
OPTIONAL_TEXT = [*NOT_TEXT, "x" * 100_000]
ROW_ID = [None, *NOT_A_NUMBER, *NOT_WHOLE, *NOT_AN_ID]
MONEY = [*NOT_A_NUMBER, *NOT_AN_AMOUNT]
OUT_OF_BOUNDS = ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
MOMENT = [5, True, [], {}, *NOT_A_MOMENT, *OUT_OF_BOUNDS, "٢٠٢٦-03-14T09:26:53Z", "2026-03-14T٠9:26:53Z"]
CHOICE = [*NOT_TEXT, *EMPTY, "x", "AUTHENTICATOR_SCAN", "authenticator_scan ", "x" * 100_000]
LATITUDE = [*NOT_A_NUMBER, 90.000001, -90.000001, 180, 1e300, None]
LONGITUDE = [*NOT_A_NUMBER, 180.000001, -180.000001, 1e300, None]
LOCATION = {
    "latitude": LATITUDE,
    "longitude": LONGITUDE,
    "city": OPTIONAL_TEXT,
    "region": OPTIONAL_TEXT,
}
PRODUCT = {
    "productId": ROW_ID,
    "authCode": TEXT,
    "title": OPTIONAL_TEXT,
    "retailPrice": MONEY,
    "redeem_point_value": [*NOT_A_NUMBER, *NOT_WHOLE, -1, 10**8, 2**31, 2**63 - 1],
}
ACTION_FIELDS = {"user_id": ROW_ID, "brand_id": ROW_ID, "type": CHOICE}


def nested_in(path, fields):
    return {f"{path}.{name}": values for name, values in fields.items()}


PHONE = ["0791234567", "+", "+0791234567", "+41 79 123 45 67", "+4179123456789012", "+41791234567\n+1", "a@b.ch"]
SWITCH = [None, 0, 1, "true", "yes", [], {}]
CODE_OF_REDEMPTION = [*NOT_TEXT, "", "x" * 100_000]
PRODUCT_FIELDS = {
    "sku": [*TEXT, "x" * 65],
    "title": [*TEXT, "x" * 201],
    "gtin": [*OPTIONAL_TEXT, "1", "4006381333932", "٤٠٠٦٣٨١٣٣٣٩٣١"],
    "retail_price": [*NOT_A_NUMBER, -0.01, 1e10, 1e300, 0.001],
    "points_per_scan": [*NOT_A_NUMBER, *NOT_WHOLE, -1, 2**31, 2**63 - 1],
    "is_active": SWITCH,
}
COUNT = [*NOT_A_NUMBER, *NOT_WHOLE, -1, 2**31, 2**63 - 1]
REWARD_FIELDS = {
    "name": [*TEXT, "x" * 121],
    "description": [*OPTIONAL_TEXT, "x" * 2001],
    "cost": [*NOT_A_NUMBER, 0, -0.01, 1e10, 0.001],  # null is valid: a milestone gives the reward
    "stock": COUNT,
    "limit_per_member": [0, *COUNT],
    "valid_from": MOMENT,
    "valid_until": [*MOMENT, "2026-01-01T00:00:00Z"],
    "minimum_level_id": [*NOT_A_NUMBER, *NOT_WHOLE, *NOT_AN_ID, 2**62],
    "code_days": [0, 36_501, *COUNT],
    "is_active": SWITCH,
}
OPTIONAL_ID = [*NOT_A_NUMBER, *NOT_WHOLE, *NOT_AN_ID, 2**62]  # of a row that need not be named
FIELDS = {
    "create_product": PRODUCT_FIELDS,
    "change_product": PRODUCT_FIELDS,
    "create_reward": REWARD_FIELDS,
    "change_reward": REWARD_FIELDS,
    "create_batch": {
        "range_name": [*TEXT, "x" * 121, "a\nb"],
        "quantity": [None, 0, 10_000_001, *COUNT],
        "product_id": OPTIONAL_ID,
        "campaign_id": OPTIONAL_ID,
        "prefix": [*OPTIONAL_TEXT, "a b", "ü", "x" * 33],
        "starting_number": [*NOT_A_NUMBER, *NOT_WHOLE, -1, 10**18],
        "number_width": [*NOT_A_NUMBER, *NOT_WHOLE, 0, 19],
        "points_per_scan": COUNT,
        "scan_limit": [0, *COUNT],
        "expiration_date": [5, True, [], {}, *NOT_A_MOMENT, "2020-01-01", "9999-12-31", "٢٠٢٦-٠١-٠١"],
        "signed": SWITCH,
    },
    "recall_batch": {
        "recall_id": [*TEXT, "x" * 65, "a\nb"],
        "contact": [*TEXT, "x" * 201],
        "message": TEXT,
        "reason": TEXT,
        "notify_customers": SWITCH,
    },
    "change_codes": {
        "action": [*CHOICE, "Assign", "recall"],
        "first": [*TEXT, "A1", "9" * 64],
        "last": [*TEXT, "A1", "9" * 64],
        "product_id": [None, *OPTIONAL_ID],
        "points_per_scan": COUNT,
        "inventory_location": [*OPTIONAL_TEXT, "x" * 121],
        "reason": [*TEXT, "x" * 501],
    },
    "enrol_brand_member": {"user_id": ROW_ID, "external_id": [*OPTIONAL_TEXT, "x" * 65, "a\nb"]},
    "change_member": {
        "first_name": [*NOT_TEXT, "x" * 151],
        "last_name": [*NOT_TEXT, "x" * 151],
        "email": [*TEXT, "x", "x@", f"{'x' * 300}@example.com"],
        "external_id": [*OPTIONAL_TEXT, "x" * 65, "a\nb"],
        "status": CHOICE,
        "reason": [*TEXT, "x" * 501],
    },
    "adjust_points": {"points": [None, *NOT_A_NUMBER, 0, 1e10, 0.001, 1e300], "reason": [*TEXT, "x" * 501]},
    "merge_member": {"into": ROW_ID, "reason": [*TEXT, "x" * 501]},
    "undo_merge": {"reason": [*TEXT, "x" * 501]},
    "erase_me": {"password": [*NOT_TEXT, "", "x" * 257]},
    "change_profile": {
        "first_name": OPTIONAL_TEXT,
        "last_name": [*NOT_TEXT, "x" * 151],
        "phone": [*NOT_TEXT, *PHONE],
        "language": [*NOT_TEXT, "xx", "EN", "x" * 100_000],
        "notifications": NOT_AN_OBJECT,
        "notifications.points": NOT_AN_OBJECT,
        "notifications.points.email": SWITCH,
    },
    "enrol_member": {"user_id": ROW_ID, "email": [*TEXT, "x", "x@", f"{'x' * 300}@example.com"]},
    "correct_member": {
        "first_name": [*NOT_TEXT, "x" * 151],
        "last_name": [*NOT_TEXT, "x" * 151],
        "email": [*TEXT, "x", "x@", f"{'x' * 300}@example.com"],
        "reason": [*NOT_TEXT, "", "x" * 501],
    },
    "report_fake": {
        "code": [*NOT_TEXT, "", "x" * 100_000],
        "place": [*NOT_TEXT, "", "x" * 201],
        "remark": [*NOT_TEXT, "x" * 2001],
        "contact": [*NOT_TEXT, "x" * 201],
    },
    "change_email": {"email": [*TEXT, "x", "x@", f"{'x' * 300}@example.com"]},
    "check_redemption": {"code": CODE_OF_REDEMPTION},
    "use_redemption": {"code": CODE_OF_REDEMPTION},
    "use_brand_redemption": {"code": CODE_OF_REDEMPTION},
    "log_in": {
        "email": [*TEXT, "x", "x@", "@x.com", "a b@x.com", f"{'x' * 300}@example.com"],
        "password": [*NOT_TEXT, "", "x" * 257],
        "brand_id": [*ROW_ID, 2**31, 2**40, 2**63 - 1],
    },
    "refresh_tokens": {"refresh": TEXT},
    "log_out": {"refresh": TEXT},
    "register": {
        "email": [*TEXT, "x", "x@", "@x.com", f"{'x' * 300}@example.com"],
        "password": [*NOT_TEXT, "", "short", "x" * 257],
        "brand_id": [*ROW_ID, 2**31, 2**40, 2**63 - 1],
        "first_name": OPTIONAL_TEXT,
        "last_name": OPTIONAL_TEXT,
    },
    "forgot_password": {
        "email": [*TEXT, "x", "x@", "@x.com", f"{'x' * 300}@example.com"],
        "brand_id": [*ROW_ID, 2**31, 2**40, 2**63 - 1],
    },
    "reset_password": {
        "token": [*TEXT, "x" * 501, "a:b:c", "é"],
        "password": [*NOT_TEXT, "", "short", "x" * 257],
    },
    "credit_action": {
        **ACTION_FIELDS,
        "product": NOT_AN_OBJECT,
        **nested_in("product", PRODUCT),
        "location": [value for value in NOT_AN_OBJECT if value is not None],
        **nested_in("location", LOCATION),
        "timestamp": MOMENT,
    },
    "credit_action (order)": {
        "order": NOT_AN_OBJECT,
        "order.orderId": [*TEXT, "a b", "a\nb", "ü" * 201],
        "order.currency": ["", "chf", "CHFX", 5, None],
        "order.subtotal": [None, *MONEY],
        "order.discount": MONEY,
        "order.total": [None, *MONEY],
        "order.items": [*NOT_A_LIST, [5], [None], [{}], ["a"]],
        "order.items.0.quantity": [*ROW_ID, 1_000_001, 2**31],
        "order.items.0.unitPrice": [None, *MONEY],
    },
    "credit_action (profile)": {
        "changedFields": [*NOT_A_LIST, [5], [None], [""], ["a b"], [["a"]], ["a"] * 101, ["x" * 65]],
        "completedFields": [*NOT_A_LIST, [5], [None], [""], ["a b"], [["a"]], ["a"] * 101, ["x" * 65]],
    },
    "credit_action (login)": {"sessionId": TEXT, "channel": TEXT},
    "ingest_event": {
        "version": [*TEXT, "a\nb"],
        "id": [*NOT_TEXT, *EMPTY, "x", "{}", "٠" * 32, "00000000-0000-0000-0000-00000000000g", "x" * 100_000],
        "detail-type": [*TEXT, "a\nb"],
        "source": [*TEXT, "x.customer-app\n", "shop", ".customer-app", "a b.customer-app", f"{'x' * 200}.customer-app"],
        "account": [*OPTIONAL_TEXT, "a\nb", "a\x1bb"],
        "time": [None, *MOMENT],
        "region": [*OPTIONAL_TEXT, "a\nb"],
        "resources": [*NOT_A_LIST, ["arn"]],
        "detail": NOT_AN_OBJECT,
        "detail.arguments": NOT_AN_OBJECT,
        "detail.arguments.brand_id": ROW_ID,
        "detail.arguments.user_id": ROW_ID,
        "detail.arguments.authorization": TEXT,
        "detail.payload": NOT_AN_OBJECT,
        "detail.payload.type": CHOICE,
        "detail.payload.product": NOT_AN_OBJECT,
        **nested_in("detail.payload.product", PRODUCT),
        **nested_in("detail.payload.location", LOCATION),
        "detail.payload.timestamp": MOMENT,
    },
    "register_device": {"token": [*TEXT, "a b", "ü"], "platform": CHOICE},
    "verify_product": LOCATION,
    "scan_code": {
        "code": [*TEXT, "x" * 501],
        "customer_id": [None, 5, True, [], {}, "1" * 21],
        "location": [value for value in NOT_AN_OBJECT if value is not None],
        **nested_in("location", LOCATION),
        "device": OPTIONAL_TEXT,
        "app_version": OPTIONAL_TEXT,
    },
    "scan_code (hub)": {"customer_id": [5, "-1", "x", "1.0", "٣", "1 2", "9" * 19]},
    "adopt_scan": {"scan_token": TEXT},
    "place_scan": {"latitude": LATITUDE, "longitude": LONGITUDE, "scan_token": OPTIONAL_TEXT},
    "validate_code": {
        "code": [*TEXT, "x" * 501],
        "customer_id": [None, 5, True, [], {}, "-1", "x", "1.0", "٣", "9" * 19, "1" * 21],
    },
}
REQUIRED = {
    "create_product": ["sku", "title"],
    "create_reward": ["name", "cost"],
    "create_batch": ["range_name", "quantity"],
    "recall_batch": list(RECALL),
    "change_codes": ["action", "batch_id", "first", "last", "product_id", "reason"],
    "enrol_brand_member": ["user_id"],
    "change_member": ["reason"],
    "adjust_points": ["points", "reason"],
    "merge_member": ["into", "reason"],
    "undo_merge": ["reason"],
    "log_in": ["email", "password"],
    "refresh_tokens": ["refresh"],
    "log_out": ["refresh"],
    "register": ["email", "password"],
    "forgot_password": ["email"],
    "reset_password": ["token", "password"],
    "credit_action": ["user_id", "brand_id", "type", "product", "product.authCode", "location.latitude"],
    "credit_action (order)": ["order", "order.orderId", "order.subtotal", "order.items.0.quantity"],
    "ingest_event": [
        *["version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"],
        *["detail.arguments", "detail.arguments.brand_id", "detail.arguments.user_id", "detail.payload"],
        *["detail.payload.type", "detail.payload.product", "detail.payload.location.longitude"],
    ],
    "register_device": ["token", "platform"],
    "erase_me": ["password"],
    "check_redemption": ["code"],
    "use_redemption": ["code"],
    "use_brand_redemption": ["code"],
    "verify_product": ["latitude", "longitude"],
    "scan_code": ["code", "location.latitude", "location.longitude"],
    "adopt_scan": ["scan_token"],
    "place_scan": ["latitude", "longitude"],
    "validate_code": ["code"],
}
