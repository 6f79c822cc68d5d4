// Messages of the server: announced to screen readers and closed by hand; only those without an action close by themselves.
import { element } from "./elements.js";

const MIN_MS = 10_000;
const PER_LETTER_MS = 80;
const SPOKEN_AFTER_MS = 150; // a live region only announces content added after the region itself
const UNDO_MS = 10 * 60_000; // as long as the server allows the undo

const toasts = document.querySelector("[data-toasts]");
if (toasts) {
  const polite = element("div", { role: "status" });
  const urgent = element("div", { role: "alert" });
  const each = [...toasts.children];
  toasts.append(urgent, polite);
  setTimeout(() => {
    for (const toast of each) (toast.dataset.toast === "error" ? urgent : polite).append(toast);
  }, SPOKEN_AFTER_MS);
  each.forEach(watch);
  const reportHeight = () => document.body.style.setProperty("--toasts-height", `${toasts.offsetHeight}px`);
  new ResizeObserver(reportHeight).observe(toasts); // toasts.css keeps the same space free
}

function watch(toast) {
  const close = () => toast.remove();
  toast.querySelector("[data-toast-close]").addEventListener("click", close);
  const undo = toast.querySelector("[data-undo]");
  undo?.addEventListener("submit", () => setTimeout(() => (undo.querySelector("button").disabled = true)));
  if (undo) {
    setTimeout(() => undo.remove(), UNDO_MS);
    return;
  }
  if (!["success", "info"].includes(toast.dataset.toast)) return;

  // Time runs only while the message is readable: not in a hidden tab, and not under the pointer or the focus.
  let left = MIN_MS + toast.innerText.length * PER_LETTER_MS;
  const STEP = 500;
  const clock = setInterval(() => {
    const isPaused = document.hidden || toast.matches(":hover, :focus-within");
    if (!isPaused) left -= STEP;
    if (left > 0) return;
    clearInterval(clock);
    close();
  }, STEP);
}
