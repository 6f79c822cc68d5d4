// A customer's account, as far as the API returns it.
import { call, isCustomer } from "./api.js";
import { copy } from "./fill.js";

const PARTS = { points: "customer/loyalty/points", campaigns: "customer/loyalty/campaigns", rewards: "customer/loyalty/rewards", redemptions: "customer/loyalty/redemptions", transactions: "customer/loyalty/transactions?limit=5", wallets: "customer/wallet", referral: "customer/loyalty/referral" };

const MAX_STAMPS = 12;

export async function show(place) {
  const names = Object.keys(PARTS);
  const answers = await Promise.all(names.map((name) => call("GET", PARTS[name])));
  place.hidden = !isCustomer();
  if (place.hidden) return;
  const data = Object.fromEntries(names.map((name, number) => [name, answers[number].ok ? answers[number].body.data : null]));
  data.redemptions = data.redemptions?.filter(({ state }) => state === "good");
  data.goal = goalOf(data.points, data.rewards);
  data.campaigns = data.campaigns?.map(withStamps);
  const balance = data.points?.points ?? 0;
  data.rewards = data.rewards?.map((reward) => ({ ...reward, left: balance - reward.cost }));
  if (data.referral) Object.assign(data.referral, { joined: data.referral.waiting + data.referral.rewarded, [`is_${data.referral.action}`]: true });
  place.replaceChildren(copy("account-parts", data));
}

/** The value at which the ring is full; account.py has the same rule. */
function goalOf(points, rewards) {
  const percent = (part, whole) => Math.max(0, Math.min(100, Math.floor((100 * part) / whole || 0)));
  if (points?.next_level) return { percent: percent(points.next_level.points, points.next_level.threshold) };
  const [first] = (rewards || []).filter(({ missing }) => missing).sort((one, other) => one.missing - other.missing);
  return first ? { percent: percent(points?.points, first.cost), reward: first.name, missing: first.missing } : { percent: 100 };
}

function withStamps(campaign) {
  const { target, progress } = campaign, isFew = Number.isInteger(target) && target >= 1 && target <= MAX_STAMPS;
  return { ...campaign, stamps: isFew ? Array.from({ length: target }, (_, step) => ({ full: step < progress })) : [] };
}

// By reward: pressed again after a lost answer, or before the account is shown again, it is the same redemption.
const keys = new Map();

export async function redeem(rewardId, display) {
  if (!keys.has(rewardId)) keys.set(rewardId, crypto.randomUUID?.() || `${Date.now()}-${Math.random()}`);
  const answer = await call("POST", `customer/loyalty/rewards/${rewardId}/redeem`, {}, keys.get(rewardId));
  await display(answer);
  if (answer.status < 500) keys.delete(rewardId);
}

export const claim = (milestoneId) => call("POST", `customer/loyalty/milestones/${milestoneId}/claim`);
export const refer = (form) => call("POST", "customer/loyalty/referral", { code: form.elements.referral_code.value });

/** Uses the device's share dialog, else its clipboard; returns the name of the message to show. */
export async function share(url) {
  if (!navigator.share) return navigator.clipboard.writeText(url).then(() => "copied", () => "trouble");
  return navigator.share({ url }).then(() => "", () => ""); // shared, or the dialog was closed
}
export const undo = (redemptionId) => call("POST", `customer/loyalty/redemptions/${redemptionId}/undo`);

// Whether a customer has logged in on this phone before.
export function rememberAccount() {
  try { localStorage.setItem("account", "1"); } catch { /* without storage the page offers to register */ }
}

export function hadAccount() {
  try { return Boolean(localStorage.getItem("account")); } catch { return false; }
}
