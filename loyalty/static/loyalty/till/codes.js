// The codes that this till can check without a connection: digests, never codes; for one user, and for a few hours.
const NAME = "till codes", LASTS_MS = 12 * 3_600_000, MAX_SEEN = 100, DIGEST_LENGTH = 32;

function storedCodes() {
  try {
    const stored = JSON.parse(localStorage.getItem(NAME) || "null");
    return stored && Date.now() - stored.at < LASTS_MS ? stored : null;
  } catch { return null; }
}

function store(known) {
  try { localStorage.setItem(NAME, JSON.stringify(known)); } catch { /* without storage nothing can be looked up offline */ }
}

export function clear() {
  try { localStorage.removeItem(NAME); } catch { /* nothing was stored */ }
}

/** Parses a code as loyalty/rewards/codes.py does. */
const plain = (text) => text.toUpperCase().replace(/[IL]/g, "1").replace(/O/g, "0").replace(/[ \t-]/g, "");

async function digest(text) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(plain(text)));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("").slice(0, DIGEST_LENGTH);
}

/** Fetches the newest codes. A user without the permission, or another user, starts with none. */
export async function refresh(address) {
  const response = await fetch(address, { credentials: "same-origin" });
  if (response.redirected || response.status === 403) return clear();
  if (!response.ok) return undefined;
  const { is_allowed, person, codes } = await response.json();
  if (!is_allowed) return clear();
  const before = storedCodes();
  const seen = before?.person === person ? before.seen.filter((each) => Date.now() - each[4] < LASTS_MS) : [];
  return store({ person, codes, at: Date.now(), seen });
}

/** Stores the service's latest answer about a code; stores nothing if the brand allows no list. */
export async function note(text, name, state) {
  const known = storedCodes();
  if (!known || !crypto.subtle) return;
  const key = await digest(text);
  known.codes = known.codes.filter(([each]) => each !== key);
  known.seen = [...known.seen.filter(([each]) => each !== key), [key, name, state, null, Date.now()]].slice(-MAX_SEEN);
  store(known);
}

/** { name, state, at } of a code, where `at` is the moment of the information; undefined if the till does not know it. */
export async function find(text) {
  const known = storedCodes();
  if (!known || !crypto.subtle) return undefined;
  const key = await digest(text);
  const [, name, state, ends, at = known.at] = [...known.codes, ...known.seen].find(([each]) => each === key) || [];
  if (!state) return undefined;
  return { name, state: state === "good" && ends && Date.parse(ends) <= Date.now() ? "expired" : state, at };
}
