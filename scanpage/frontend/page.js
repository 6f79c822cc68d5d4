// The page with scripts: scans when the user asks for it, and keeps everything on one page.
import { Offline, call, isCustomer, session } from "./api.js";
import { copy, message } from "./fill.js";
import * as account from "./account.js";
import * as offlineQueue from "./offline_queue.js";
import * as scans from "./scan.js";

const part = (id) => document.getElementById(id);
const pageData = document.body.dataset;
// From the address, not from the page: offline this may be the stored page without a code.
function codeIn(pathname) {
  const path = pathname.match(/^\/(?:s|01\/\d{8,14}\/21)\/(.+)$/);
  try { return path ? decodeURIComponent(path[1]) : ""; } catch { return path[1]; }
}
const code = codeIn(location.pathname);
let scan = null; // the answer to this page's scan

function show(state, data) {
  part("state").replaceChildren(copy(`state-${state}`, data));
}

function points(state, data) {
  part("points").replaceChildren(copy(`points-${state}`, data));
}

/** Without a connection the current state is unknown: shows this tab's last answer with its time. */
function showOffline() {
  const last = scans.earlier(code);
  if (!last) return show("offline");
  const title = copy(`state-${scans.stateOf({ ok: true, body: last.body })}`).querySelector("h1").textContent;
  show("earlier", { product: last.body.product, checked_at: last.checked_at, answer: title });
}

async function check() {
  scan = null;
  show("checking");
  points("");
  const answer = await scans.scan(code);
  const state = scans.stateOf(answer);
  scan = answer.ok ? answer.body : null;
  show(state, { support_email: document.querySelector("footer a").textContent, ...answer.body });
  if (!["waiting", "trouble"].includes(state)) {
    offlineQueue.drop(code); // only codes with an answer
    showQueue();
  }
  // A recalled product stays where it is and the brand knows the place: no location is requested.
  part("place").hidden = !scan || !navigator.geolocation || !isSecureContext || state === "recalled";
  part("sign-in").hidden = isCustomer();
  if (scan?.waits_for || state === "reserved_for_other") points("unconfirmed", { waits_for: scan.waits_for, points_awarded: scan.points_awarded || "" });
  else if (scan?.points_status === "pending") await follow();
  else if (scan?.points_available) points("guest", scan);
  else if (scan?.points_status === "limited") points("limited");
  else if (["lapsed", "not_eligible"].includes(scan?.points_status) && scan.status === "success")
    points(scan.reason === "product_inactive" ? "unsold" : "none");
}

async function sendConfirmation() {
  const answer = await call("POST", "auth/email/verification");
  if (answer.ok && answer.body.email_verified_at) return check(); // confirmed in another window in the meantime
  part("points").textContent = message(answer.ok ? "mail-sent" : answer.status === 429 ? "mail-wait" : "trouble");
}

async function follow() {
  points("pending");
  const end = await scans.settled(scan.scan_id);
  const known = { awarded: "awarded", limited: "limited", late: "late", not_eligible: "none" }[end.points_status];
  points(known || "", end);
  if (end.recall) show("recalled", { ...scan, recall: end.recall });
  else if (end.points_status === "already_claimed") show(scan.is_test ? "test" : "mine", scan);
}

async function logIn(form) {
  const answer = await session(form.dataset.act, Object.fromEntries(new FormData(form)));
  const wrong = form.closest("section").querySelector(".wrong");
  wrong.hidden = answer.ok;
  wrong.textContent = answer.ok ? "" : answer.body.message || message("trouble");
  if (!answer.ok) return;
  part("sign-in").hidden = true;
  const waits = answer.body.registration_id;
  part("confirm").hidden = !waits;
  if (waits) { // the address must be confirmed first, with the code that was mailed
    part("confirm").querySelector("[name=registration_id]").value = waits;
    part("confirm").querySelector("[name=code]").focus();
    return;
  }
  form.reset();
  account.rememberAccount(); // next time the page offers to log in
  if (scan?.scan_token && scan.points_available) {
    const adopted = await scans.adopt(code, scan);
    if (adopted.body.waits_for) points("unconfirmed", { points_awarded: scan.points_available, waits_for: adopted.body.waits_for });
    else if (adopted.ok) await follow();
    else if (adopted.status === 409) points("none");
    else part("points").textContent = message("trouble"); // a reload of the page takes the scan over
  }
  if (scan?.reason === "reserved") await check(); // for guests only
  await showAccount();
  part("account").querySelector("h2")?.setAttribute("tabindex", "-1");
  part("account").querySelector("h2")?.focus();
}

async function logOut() {
  const answer = await session("log_out");
  if (!answer.ok) {
    part("points").textContent = answer.body.message || message("trouble");
    part("points").scrollIntoView({ block: "center" });
    return;
  }
  location.assign("/s/"); // a code's page would scan it again, as a guest
}

async function showAccount() {
  if (isCustomer()) await account.show(part("account"));
  part("sign-in").hidden = isCustomer() || !part("confirm").hidden || (!scan && Boolean(code));
}

/** Most visitors are new; a customer who has logged in on this phone before is not. */
function offerEntry() {
  const isInvited = part("sign-in").querySelector("[name=referral_code]");
  if (account.hadAccount() && !isInvited && part("sign-in").querySelector(".wrong").hidden)
    document.querySelector("[data-entry]").open = true;
}

function sendLocation() {
  const showMessage = (name) => { part("place").textContent = message(name); };
  navigator.geolocation.getCurrentPosition(
    (position) => guarded(async () => showMessage((await scans.place(scan, position.coords)).ok ? "placed" : "trouble")),
    () => showMessage("not-placed"),
    { timeout: 15_000, maximumAge: 60_000 },
  );
}

async function take(answer) {
  if (answer.ok) part("points").replaceChildren(copy("redeemed", answer.body.data));
  else part("points").textContent = message(answer.body.error || "trouble");
  part("points").scrollIntoView({ block: "center" });
  await showAccount();
}

/** Whether the customer confirms; any other answer, or leaving the question, is no. */
function confirmed(question) {
  const dialog = part("ask");
  dialog.querySelector("p").textContent = question;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}

async function redeem(button) {
  if (await confirmed(button.dataset.question)) await account.redeem(button.value, take);
}

async function undo(button) {
  const answer = await account.undo(button.value);
  part("points").textContent = message(answer.ok ? "undone" : answer.body.error || "trouble");
  part("points").scrollIntoView({ block: "center" });
  await showAccount();
}

async function refer(form) {
  const answer = await account.refer(form);
  part("points").textContent = answer.ok ? message("referred") : answer.body.message || message("trouble");
  part("points").scrollIntoView({ block: "center" });
  if (answer.ok) await showAccount(); // otherwise the typed text stays
}

async function share(button) {
  const outcome = await account.share(button.value);
  if (outcome) part("points").textContent = message(outcome);
}

async function camera() {
  try {
    const { read, wayOf } = await import("./camera.js");
    const text = await read(part("camera"), document.querySelector('[data-do="camera-off"]'));
    if (text) checkAt(wayOf(text));
  } catch {
    part("camera-offer").textContent = message("no-camera");
    part("code").focus();
  }
}

/** On a page without a code, starts the camera: at once if it was allowed before, else its button does. */
async function cameraFirst() {
  const permission = await navigator.permissions?.query({ name: "camera" }).catch(() => null);
  if (permission?.state === "granted" && !code && !("done" in pageData)) document.querySelector("[data-do=camera]")?.click();
}

/** Goes to a code's page after the user has already asked to check the code. */
function checkAt(way) {
  scans.begin(codeIn(way));
  location.assign(way);
}

/** Programs that run scripts open links too, and would use a code up: only a person's press of the button checks it. */
async function offer() {
  if (scans.hasBegun(code)) await check();
  else if (!navigator.onLine) show("offline");
  else if (!part("check")) show("ready"); // the stored page has no code
}

function showQueue() {
  const codes = offlineQueue.all();
  part("kept").hidden = !codes.length;
  part("kept").replaceChildren(codes.length ? copy("kept-codes", { codes }) : "");
}

const ACTIONS = {
  again: check,
  keep: () => { offlineQueue.add(code); show("kept"); showQueue(); },
  place: sendLocation,
  redeem,
  undo,
  share,
  claim: async (button) => take(await account.claim(button.value)),
  camera,
  // One at a time: the user sees each answer, and a guest can log in to earn its points.
  "send-kept": (button) => checkAt(`/s/${encodeURIComponent(button.value)}`),
  "drop-kept": () => { offlineQueue.dropAll(); showQueue(); },
};

/** Reports errors, and the page stays usable; the button is disabled until the work is done. */
async function guarded(work, button = {}) {
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Offline)) throw error;
    if (code && !scan) showOffline();
    else part("points").textContent = message("offline");
  } finally {
    button.disabled = false;
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button && !button.disabled && ACTIONS[button.dataset.do]) guarded(() => ACTIONS[button.dataset.do](button), button);
});

document.addEventListener("submit", (event) => {
  const form = event.target, act = form.dataset.act || (form.id === "check" ? "check" : "");
  const action = { check, log_in: () => logIn(form), register: () => logIn(form), confirm: () => logIn(form), log_out: logOut, refer: () => refer(form), send_confirmation: sendConfirmation }[act];
  if (!action) return;
  event.preventDefault();
  guarded(action, form.querySelector("button"));
});

// The page was restored by going back: the user may have logged in or out since.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

guarded(async () => {
  const hasCamera = Boolean(part("camera-offer") && navigator.mediaDevices?.getUserMedia);
  if (hasCamera) {
    part("camera-offer").hidden = false;
    cameraFirst();
  }
  showQueue();
  offerEntry();
  if (code && !("done" in pageData) && !("byHand" in pageData)) await offer();
  if (!("done" in pageData) || isCustomer()) await showAccount();
});
navigator.serviceWorker?.register("/sw.js").catch(() => {});
