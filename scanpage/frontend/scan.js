// One scan: sent once, however often the page is reloaded; a guest's is taken over at login; polls its points until they are decided.
import { call, isCustomer } from "./api.js";

const REMEMBERED_MS = 30 * 60_000;
const POLL_MS = 400, PATIENCE_MS = 20_000;

/** The display state of the answer to a scan; presenters.py has the same rule. */
export function stateOf({ ok, body }) {
  const known = { AUTH_CODE_INVALID: "unknown", VALIDATION_ERROR: "unknown", RATE_LIMITED: "waiting", SCAN_LIMIT_REACHED: "used" }[body.error];
  if (known || !ok) return known || "trouble";
  if (body.is_test) return "test";
  if (body.reason === "recalled") return "recalled";
  if (body.points_status === "already_claimed") return "mine";
  if (body.reason === "reserved") return isCustomer() ? "reserved_for_other" : "reserved";
  if (body.status === "warning") return "used";
  return body.first_scan ? "new" : "seen";
}

const nameOf = (code) => `scan ${code}`;

function remember(code, entry) {
  try {
    sessionStorage.setItem(nameOf(code), JSON.stringify(entry));
    return entry;
  } catch {
    return {}; // without storage each load is a new scan
  }
}

function known(code) {
  try {
    const stored = JSON.parse(sessionStorage.getItem(nameOf(code)) || "{}");
    if (stored.key && Date.now() - stored.at < REMEMBERED_MS) return stored;
  } catch { /* without storage nothing is stored */ }
  return null;
}

/** Whether this tab has already checked the code: then checking it again is the same scan. */
export const hasBegun = (code) => Boolean(known(code));

export const begin = (code) => { remembered(code); };

/** What this tab stored about its scan of a code: the key that it was sent with, and a guest's answer. */
function remembered(code, startsOver) {
  return (!startsOver && known(code)) || remember(code, { key: crypto.randomUUID?.() || String(Math.random()).slice(2) + Date.now(), at: Date.now() });
}

/** The current state of a guest's scan, or the customer's if the guest has logged in since; nothing if it is another user's. */
async function again(code, known) {
  const { scan_token, points_available, ...answer } = known;
  let now = isCustomer() && scan_token && (await adopt(code, known));
  if (!now || now.status === 409) now = await call("GET", `scans/${answer.scan_id}`);
  if (!now.ok) return now.status === 429 || now.status >= 500 ? now : undefined;
  let { points_status, waits_for, recall } = now.body;
  // A product that was genuine then is recalled now, whatever happened to its points.
  if (recall) return { ...now, body: { ...answer, recall, status: "warning", reason: "recalled", points_status: "not_eligible" } };
  remember(code, { ...remembered(code), checked: Date.now() });
  if (points_status === "awarded") points_status = "already_claimed";
  if (points_status !== "guest") return { ...now, body: { ...answer, points_status, waits_for } };
  return { ...now, body: isCustomer() ? { ...answer, points_status: "not_eligible" } : known };
}

/** This tab's last answer to a guest's scan, and its time: it says nothing about the current state. */
export function earlier(code) {
  const { answer, checked, at } = known(code) || {};
  return answer && { body: answer, checked_at: new Date(checked || at).toISOString() };
}

export async function scan(code) {
  const begun = remembered(code), ownScan = begun.answer && (await again(code, begun.answer));
  if (ownScan && (ownScan.body.recall || !["lapsed", "limited", "not_eligible"].includes(ownScan.body.points_status))) return ownScan;
  const body = { code, device: navigator.userAgentData?.platform || "", app_version: "page" };
  const send = ({ key }) => call("POST", "auth-codes/scan", body, key);
  let answer = await send(begun);
  // The key is of a guest scan that another user has taken over since, or of this guest from another address.
  if (answer.body.error === "IDEMPOTENCY_KEY_REUSED") answer = await send(remembered(code, true));
  const { status, reason, points_status, scan_token } = answer.body;
  if (ownScan && ["limit_reached", "reserved"].includes(reason) && points_status !== "already_claimed") return ownScan; // this scan used the code up
  if (status === "success" && scan_token) remember(code, { ...remembered(code), answer: answer.body, checked: Date.now() });
  return answer;
}

/** Makes a guest's scan the customer's, and stores that. */
export async function adopt(code, { scan_token, points_available, ...answer }) {
  const adopted = await call("POST", `scans/${answer.scan_id}/adopt`, { scan_token });
  if (adopted.ok) remember(code, { ...remembered(code), answer: { ...answer, points_awarded: points_available } });
  return adopted;
}

export function place(scan, { latitude, longitude }) {
  return call("POST", `scans/${scan.scan_id}/place`, { latitude, longitude, ...(scan.scan_token ? { scan_token: scan.scan_token } : {}) });
}

/** The outcome of the points: awarded, limited, not_eligible, already_claimed; or late. */
export async function settled(scanId) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const { ok, body } = await call("GET", `scans/${scanId}`);
    if (ok && body.points_status !== "pending") return body;
    if (Date.now() > end) return { points_status: "late" };
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
