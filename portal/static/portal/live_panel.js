// Shows in a panel what a form would create, while it is being filled in: sends the fields of the form with the id
// `data-live-form` to the address `data-live`, and shows its answer.
import { addressWith, debounce, getHtml, latestOnly } from "./requests.js";

const PAUSE = 400;
const panel = document.querySelector("[data-live]");
const form = panel && document.getElementById(panel.dataset.liveForm);
if (form) start();

function start() {
  let requested = "";
  const ended = () => panel.setAttribute("aria-busy", "false");

  const load = latestOnly(
    async (signal, address) => {
      panel.innerHTML = await getHtml(address, signal);
      ended();
    },
    () => {
      requested = "";
      ended();
    },
  );
  const ask = () => {
    const address = addressWith(panel.dataset.live, form);
    if (address.href === requested) return;
    requested = address.href;
    panel.setAttribute("aria-busy", "true");
    load(address);
  };
  const soon = debounce(ask, PAUSE);

  // The calendar and the look-ups fire different events for a choice, but all move the focus.
  for (const kind of ["input", "change", "focusin", "focusout"]) form.addEventListener(kind, soon);
  window.django?.jQuery?.(form).on("change", soon);
  ask();
}
