// Codes scanned without a connection: stored on this phone only, and sent when the user says so.
const NAME = "kept codes", MAX_CODES = 50;

export function all() {
  try {
    const stored = JSON.parse(localStorage.getItem(NAME) || "[]");
    return Array.isArray(stored) ? stored.filter((each) => typeof each?.code === "string") : [];
  } catch {
    return [];
  }
}

function store(codes) {
  try {
    if (codes.length) localStorage.setItem(NAME, JSON.stringify(codes.slice(-MAX_CODES)));
    else localStorage.removeItem(NAME);
  } catch { /* without storage the user still has the code on the product */ }
}

export const add = (code) => store([...all().filter((each) => each.code !== code), { code, at: new Date().toISOString() }]);
export const drop = (code) => store(all().filter((each) => each.code !== code));
export const dropAll = () => store([]);
