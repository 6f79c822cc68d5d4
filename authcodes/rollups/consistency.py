"""Proves that the rollups of closed days say what the scans say; changes nothing."""
# ruff: noqa: S608 - built from constants

from collections.abc import Iterator

from authcodes.rollups.rollups import COUNTS
from core import consistency
from core.consistency import Difference

# What every table ought to hold, made again from Scan for the days that are rolled up.
_CLOSED = """
    closed AS (
        SELECT m.brand_id, (s.scanned_at AT TIME ZONE m.time_zone)::date AS day, s.batch_id, s.campaign_id,
               s.product_id, s.location, s.user_id, s.outcome, s.reason, s.scan_count, s.points_awarded,
               s.points_status, s.latitude, s.located_at, s.auth_code_id, COALESCE(c.scan_count > 0, false) AS may,
               COALESCE(c.scan_count > 0 AND c.first_scan_at < (m.until + 1)::timestamp AT TIME ZONE m.time_zone, false)
                   AS must
          FROM authcodes_rollupwatermark m
          JOIN authcodes_scan s ON s.brand_id = m.brand_id
           AND s.scanned_at < (m.until + 1)::timestamp AT TIME ZONE m.time_zone
          LEFT JOIN authcodes_authcode c ON c.id = s.auth_code_id
    )
"""
# A code that was first scanned on a closed day must be known for scanned; since then, it may.
_MISTAKEN = "bool_or(must) AND NOT bool_or(scanned) OR bool_or(scanned) AND NOT bool_or(may)"
_ATTEMPT = "brand_id, day, auth_code_id, user_id, batch_id, campaign_id, product_id, location, outcome, reason"
_COMPARED = "ARRAY[accepted, first_scans, warnings, errors, recalled, points]"


def _compared(table: str, keys: str) -> str:
    """Rows of a table of counts that are not what its scans say."""
    return f"""
        WITH {_CLOSED}, wanted AS (
            SELECT brand_id, day, {keys}, {COUNTS} FROM closed s GROUP BY brand_id, day, {keys}
        ), wrong AS (
            SELECT brand_id, day, {keys}, {_COMPARED} AS expected, NULL::numeric[] AS found FROM wanted
            UNION ALL
            SELECT t.brand_id, t.day, {_of("t", keys)}, NULL, {_COMPARED}
              FROM {table} t JOIN authcodes_rollupwatermark m USING (brand_id) WHERE t.day <= m.until
        )
        SELECT format('brand %%s, %%s, %%s', brand_id, day, concat_ws('/', {keys})),
               COALESCE(max(expected)::text, 'none'), COALESCE(max(found)::text, 'none')
          FROM wrong GROUP BY brand_id, day, {keys}
        HAVING count(*) <> 2 OR max(expected) IS DISTINCT FROM max(found)
    """.replace("%%", "%")


def _of(alias: str, keys: str) -> str:
    return ", ".join(f"{alias}.{key}" for key in keys.split(", "))


CHECKS = {
    "rollup by day is not what its scans say": _compared("authcodes_dayrollup", "batch_id, campaign_id, product_id"),
    "rollup by place is not what its scans say": _compared("authcodes_placerollup", "location"),
    "rollup by cell is not what its scans say": _compared(
        "authcodes_batchplacerollup", "batch_id, campaign_id, product_id, location"
    ),
    "scanners of a day are not those of its scans": f"""
        WITH {_CLOSED}, wanted AS (
            SELECT brand_id, day, user_id, batch_id, campaign_id, location, bool_or(must) AS must, bool_or(may) AS may
              FROM closed WHERE user_id IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6
        ), both_sides AS (
            SELECT *, NULL::boolean AS scanned, 1 AS wanted, 0 AS found FROM wanted
            UNION ALL
            SELECT r.brand_id, r.day, r.user_id, r.batch_id, r.campaign_id, r.location, NULL, NULL, r.scanned, 0, 1
              FROM authcodes_scannerrollup r JOIN authcodes_rollupwatermark m USING (brand_id) WHERE r.day <= m.until
        )
        SELECT format('brand %s, %s, user %s in batch %s', brand_id, day, user_id, batch_id), sum(wanted)::text,
               sum(found)::text
          FROM both_sides GROUP BY brand_id, day, user_id, batch_id, campaign_id, location
        HAVING sum(wanted) <> 1 OR sum(found) <> 1 OR {_MISTAKEN}
    """,
    "scanners ever are not those of the closed days": f"""
        WITH {_CLOSED}, wanted AS (
            SELECT brand_id, user_id, bool_or(must) AS must, bool_or(may) AS may
              FROM closed WHERE user_id IS NOT NULL GROUP BY 1, 2
        )
        SELECT format('brand %s, user %s', brand_id, user_id), COALESCE(w.must::text, 'none'),
               COALESCE(k.scanned::text, 'none')
          FROM wanted w FULL JOIN authcodes_uniquescanner k USING (brand_id, user_id)
         WHERE w.may IS NULL OR k.scanned IS NULL OR w.must AND NOT k.scanned OR k.scanned AND NOT w.may
    """,
    "attempts in vain are not those of codes never scanned": f"""
        WITH {_CLOSED}, both_sides AS (
            SELECT {_ATTEMPT}, 1 AS wanted, 0 AS found FROM closed WHERE auth_code_id IS NOT NULL AND NOT may
            UNION ALL
            SELECT {_of("v", _ATTEMPT)}, 0, 1
              FROM authcodes_unscannedcodeattempt v
              JOIN authcodes_rollupwatermark m ON m.brand_id = v.brand_id AND v.day <= m.until
              JOIN authcodes_authcode c ON c.id = v.auth_code_id AND c.scan_count = 0
        )
        SELECT format('brand %s, %s, code %s', brand_id, day, auth_code_id), sum(wanted)::text, sum(found)::text
          FROM both_sides GROUP BY {_ATTEMPT} HAVING sum(wanted) <> sum(found)
    """,
    "batch has not as many codes as were counted at their generation": """
        SELECT 'batch ' || b.id, count(c.id)::text, b.generated_count::text
          FROM authcodes_batchrange b LEFT JOIN authcodes_authcode c ON c.batch_id = b.id
         GROUP BY b.id HAVING count(c.id) <> b.generated_count
    """,
    "batch has not as many scanned codes as first scans": """
        SELECT 'batch ' || b.id, COALESCE(c.scanned, 0)::text, COALESCE(s.scanned, 0)::text
          FROM authcodes_batchrange b
          LEFT JOIN (SELECT batch_id, count(*) AS scanned FROM authcodes_authcode WHERE scan_count > 0
                      GROUP BY batch_id) c ON c.batch_id = b.id
          LEFT JOIN (SELECT batch_id, count(*) AS scanned FROM authcodes_scan
                      WHERE outcome = 'success' AND scan_count = 1 GROUP BY batch_id) s ON s.batch_id = b.id
         WHERE COALESCE(c.scanned, 0) <> COALESCE(s.scanned, 0)
    """,
}


def differences() -> Iterator[Difference]:
    """Every row of a rollup that its scans contradict, and every scan that no rollup knows of."""
    return consistency.differences(CHECKS)
