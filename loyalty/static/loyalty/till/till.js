// The till with scripts: the camera stays on, scanners need no field, and each answer is inserted into the open page.
import * as codes from "./codes.js";
import { isMuted, mute, play, unlock } from "./sounds.js";

const part = (id) => document.getElementById(id);
const pageData = document.body.dataset;
const field = part("till-lookup").elements.code;
const PARTS = ["till-result", "till-recent", "till-count"];
const REFRESH_MS = 60_000, SAME_MS = 3_000, MIN_LENGTH = 16, CAMERA_OFF = "till camera off";
let asking = null; // the look-up in progress
let isUsing = false;

const message = (name, from = "messages") => part(from).content.querySelector(`[data-message="${CSS.escape(name)}"]`)?.textContent || "";

function connected(is) {
  part("till-offline").hidden = is;
}

/** Signals the result by a sound and by vibrating, and moves the focus to it. */
function signalResult() {
  const result = part("till-result").querySelector("[data-sound]");
  if (result) {
    play(result.dataset.sound);
    navigator.vibrate?.(result.dataset.sound === "bad" ? [200, 80, 200] : 60);
  }
  part("till-result").querySelector("[data-focus]")?.focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

function trouble() {
  const text = Object.assign(document.createElement("p"), { className: "message error", textContent: message("trouble") });
  part("till-result").replaceChildren(text);
}

/** The page after a request. Throws TypeError if no answer came. */
async function send(address, options) {
  const response = await fetch(address, { credentials: "same-origin", ...options });
  connected(true);
  // The session or the role has ended: the reloaded page says which.
  if (response.status === 403 || new URL(response.url).pathname !== pageData.here) return location.assign(pageData.here);
  if (!response.ok) return trouble();
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const id of PARTS) part(id).replaceChildren(...page.getElementById(id).childNodes);
  return signalResult();
}

function isOffline(error) {
  if (error.name === "AbortError") return false;
  if (!(error instanceof TypeError)) throw error;
  connected(false);
  return true;
}

async function findOffline(text) {
  const known = await codes.find(text);
  const copy = part(`offline-${!known ? "unknown" : known.state === "good" ? "good" : "bad"}`).content.cloneNode(true);
  const at = new Date(known?.at || 0).toLocaleTimeString([], { timeStyle: "short" });
  const fills = { ...known, at, state: known && message(known.state, "offline-states") };
  for (const each of copy.querySelectorAll("[data-fill]")) each.textContent = fills[each.dataset.fill];
  part("till-result").replaceChildren(copy);
  signalResult();
}

async function noted(text) {
  const { state, name } = part("till-result").querySelector("[data-state]")?.dataset || {};
  if (state && name) await codes.note(text, name, state);
}

async function lookUp(text) {
  field.value = "";
  if (!text.trim() || isUsing) return;
  asking?.abort();
  asking = new AbortController();
  const code = text.trim().slice(0, 100);
  try {
    await send(`${pageData.here}?${new URLSearchParams({ code })}`, { signal: asking.signal });
    await noted(code);
  } catch (error) {
    if (isOffline(error)) await findOffline(code);
  }
}

/** Hands over or undoes: never twice, and never without a connection. */
async function change(form) {
  if (isUsing) return;
  isUsing = true;
  const body = new FormData(form), button = form.querySelector("button");
  button.disabled = true;
  try {
    await send(pageData.here, { method: "POST", body });
    if (body.has("code")) await noted(body.get("code"));
    codes.refresh(pageData.codes).catch(() => {});
  } catch (error) {
    if (!isOffline(error)) return;
    if (body.has("code")) await findOffline(body.get("code")); // it may be used by now and must be checked again
    else trouble();
  } finally {
    isUsing = button.disabled = false;
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.method === "get") lookUp(field.value);
  else change(event.target);
});

// Scanners type and end with Enter or Tab: their input goes into the field, wherever the focus is.
document.addEventListener("keydown", (event) => {
  unlock();
  const { target, key } = event;
  if (key === "Tab" && target === field && field.value.length >= MIN_LENGTH) {
    event.preventDefault();
    lookUp(field.value);
  }
  if (key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey || target.closest("input")) return;
  if (key === " " && target.closest("button, a")) return; // the space bar presses it
  field.value = "";
  field.focus();
});
document.addEventListener("paste", (event) => {
  if (!event.target.closest("input")) lookUp(event.clipboardData.getData("text"));
});
document.addEventListener("pointerdown", unlock);

// --- The camera: on if there is one, unless it was switched off on this device.

function isOff() {
  try { return Boolean(localStorage.getItem(CAMERA_OFF)); } catch { return false; }
}

let last = "", lastAt = 0, isWatching = false;

/** A code in front of the camera is looked up once, however long it stays there. */
function seen(text) {
  const isNew = text !== last || Date.now() - lastAt > SAME_MS;
  [last, lastAt] = [text, Date.now()];
  if (isNew) lookUp(text);
}

async function watch() {
  if (isWatching || isOff() || document.hidden) return;
  isWatching = true;
  part("till-no-camera").hidden = true;
  try {
    const camera = await import(pageData.camera);
    await camera.watch(part("till-picture"), seen, () => isOff() || document.hidden);
  } catch {
    part("till-no-camera").hidden = false;
  } finally {
    isWatching = false;
  }
}

async function offerCamera() {
  const devices = await navigator.mediaDevices?.enumerateDevices().catch(() => []);
  if (!devices?.some(({ kind }) => kind === "videoinput")) return;
  const button = part("till-camera");
  button.hidden = false;
  button.ariaPressed = String(!isOff());
  button.addEventListener("click", () => {
    try {
      if (isOff()) localStorage.removeItem(CAMERA_OFF);
      else localStorage.setItem(CAMERA_OFF, "1");
    } catch { /* without storage it stays on */ }
    button.ariaPressed = String(!isOff());
    watch();
  });
  document.addEventListener("visibilitychange", watch);
  await watch();
}

function offerSound() {
  const button = part("till-sound");
  button.hidden = !window.AudioContext;
  button.ariaPressed = String(!isMuted());
  button.addEventListener("click", () => {
    mute(!isMuted());
    button.ariaPressed = String(!isMuted());
    play("done");
  });
}

addEventListener("offline", () => connected(false));
connected(navigator.onLine && !("empty" in pageData));
offerSound();
offerCamera();

async function refresh() {
  if (document.hidden) return;
  await codes.refresh(pageData.codes);
  connected(true);
  // The page that opened without a connection has no user's name.
  if ("empty" in pageData && !part("till-result").querySelector("[data-state]")) location.replace(pageData.here);
}

const refreshQuietly = () => refresh().catch((error) => isOffline(error));
addEventListener("online", refreshQuietly);
refreshQuietly();
setInterval(refreshQuietly, REFRESH_MS);
navigator.serviceWorker?.register(pageData.worker, { scope: pageData.here }).catch(() => {});
