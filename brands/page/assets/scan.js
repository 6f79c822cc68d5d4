// One scan: sent once, however often the page is loaded again; and its points, until they are there.
import { call } from "./api.js";

const REMEMBERED_MS = 30 * 60_000;
const POLL_MS = 400, PATIENCE_MS = 20_000;

/** The state of the answer to a scan; reading.py has the same rule. */
export function stateOf({ ok, body }) {
  const known = { AUTH_CODE_INVALID: "unknown", RATE_LIMITED: "waiting", SCAN_LIMIT_REACHED: "used" }[body.error];
  if (known || !ok) return known || "trouble";
  if (body.reason === "recalled") return "recalled";
  if (body.points_status === "already_claimed") return "mine";
  if (body.status === "warning") return "used";
  return body.first_scan ? "new" : "seen";
}

function remembered(code, anew) {
  const name = `scan ${code}`;
  try {
    const { key, at } = JSON.parse(sessionStorage.getItem(name) || "{}");
    if (key && !anew && Date.now() - at < REMEMBERED_MS) return key;
    const made = crypto.randomUUID?.() || String(Math.random()).slice(2) + Date.now();
    sessionStorage.setItem(name, JSON.stringify({ key: made, at: Date.now() }));
    return made;
  } catch {
    return undefined; // no storage: each load is a scan of its own
  }
}

export async function scan(code) {
  const body = { code, device: navigator.userAgentData?.platform || "", app_version: "page" };
  const answer = await call("POST", "auth-codes/scan", body, remembered(code));
  // The key was a guest's whose scan somebody has taken over since, or this guest's from another address.
  return answer.body.error === "IDEMPOTENCY_KEY_REUSED" ? call("POST", "auth-codes/scan", body, remembered(code, true)) : answer;
}

export const adopt = (scan) => call("POST", `scans/${scan.scan_id}/adopt`, { scan_token: scan.scan_token });

export function place(scan, { latitude, longitude }) {
  return call("POST", `scans/${scan.scan_id}/place`, { latitude, longitude, ...(scan.scan_token ? { scan_token: scan.scan_token } : {}) });
}

/** What became of the points: awarded, limited, not_eligible, already_claimed; or late. */
export async function settled(scanId) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const { ok, body } = await call("GET", `scans/${scanId}`);
    if (ok && body.points_status !== "pending") return body;
    if (Date.now() > end) return { points_status: "late" };
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
