// Calls the public API as any app would. Access tokens are held here, for a minute; the refresh token is in a cookie
// that no script can read, and the page's own server exchanges it for access tokens.
export class Offline extends Error {}

const KEY = document.body.dataset.key;
const FRESH_MS = 60_000;
let access = "", requestedAt = 0, customer = "customer" in document.body.dataset || wasCustomer();

// A page stored for offline use does not know who has logged in since, so this browser remembers it.
function wasCustomer() {
  try { return Boolean(localStorage.getItem("customer")); } catch { return false; }
}

function rememberCustomer() {
  try {
    if (customer) localStorage.setItem("customer", "1");
    else localStorage.removeItem("customer");
  } catch { /* without storage: usually the page itself knows it */ }
}

export const isCustomer = () => customer;

async function send(address, options) {
  try {
    const response = await fetch(address, { ...options, credentials: "same-origin", redirect: "error" });
    const kind = response.headers.get("Content-Type") || "";
    return { status: response.status, ok: response.ok, body: kind.startsWith("application/json") ? await response.json() : {} };
  } catch (error) {
    throw new Offline(error.message);
  }
}

/** The session actions of the page's own server: log_in, register, confirm, log_out, access, rejected. */
export async function session(act, more = {}) {
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || "";
  // One window at a time: a refresh token that is used again after half a minute ends the session.
  const ask = () => send("/page/session", { method: "POST", headers: { "Content-Type": "application/json", "X-CSRFToken": token }, body: JSON.stringify({ act, ...more }) });
  const answer = await (navigator.locks ? navigator.locks.request("session", ask) : ask());
  if (answer.ok) {
    access = answer.body.access || "";
    requestedAt = Date.now();
    customer = Boolean(access);
    rememberCustomer();
  }
  return answer;
}

let renewal = null; // concurrent calls wait for the same token

/** The failed answer if a customer may be logged in but gets no fresh access token: the call would go out as a guest's. */
async function rejection() {
  if (!customer || (access && Date.now() - requestedAt <= FRESH_MS)) return undefined;
  renewal ||= session("access").finally(() => { renewal = null; });
  const answer = await renewal;
  return answer.ok ? undefined : answer;
}

async function once(method, path, body, idempotencyKey) {
  const rejected = await rejection();
  if (rejected) return rejected;
  const headers = { "api-key": KEY, "Accept-Language": document.documentElement.lang };
  if (access) headers.Authorization = `Bearer ${access}`;
  if (body) headers["Content-Type"] = "application/json";
  if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;
  return send(`/api/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
}

/** { status, ok, body } of a call. Throws Offline if no answer came. */
export async function call(method, path, body, idempotencyKey) {
  const answer = await once(method, path, body, idempotencyKey);
  if (answer.body.error !== "TOKEN_INVALID" || !customer) return answer;
  await session("rejected"); // the access token was revoked: there may be a new one, else this is a guest
  return once(method, path, body, idempotencyKey);
}
