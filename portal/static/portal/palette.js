// The search of Ctrl K: a combobox (the field) with its listbox (what the server found), in a dialog.
import { debounce, latestOnly } from "./requests.js";

const PAUSE_MS = 120; // after the last key, so that a word is searched for once

const dialog = document.querySelector("[data-palette]");
if (dialog) start();

function start() {
  const field = dialog.querySelector("[role=combobox]");
  const list = dialog.querySelector("[role=listbox]");
  const note = dialog.querySelector("[data-palette-note]");
  let isPending = false; // the displayed results are of an earlier word
  let isChosenEarly = false; // Enter was pressed before the answer came

  const options = () => [...list.querySelectorAll("[role=option]")];
  const active = () => options().find((each) => each.ariaSelected === "true");
  const activate = (option) => {
    for (const each of options()) each.setAttribute("aria-selected", String(each === option));
    if (option) {
      field.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  };
  const show = (results, text) => {
    list.replaceChildren(...(results ? [results] : []));
    field.setAttribute("aria-expanded", String(options().length > 0));
    note.textContent = text;
    activate(options()[0]);
    isPending = false;
    if (isChosenEarly) active()?.click();
    isChosenEarly = false;
  };

  const search = latestOnly(async (signal) => {
    const address = new URL(dialog.dataset.palette, window.location.href);
    address.searchParams.set("s", field.value);
    const answer = await fetch(address, { signal, headers: { Accept: "text/html" } });
    if (answer.redirected) return show(null, dialog.dataset.ended);
    if (!answer.ok) return show(null, dialog.dataset.failed);
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    show(parsed.querySelector("[data-results]"), parsed.querySelector("[data-note]")?.textContent.trim() ?? "");
  }, () => show(null, dialog.dataset.failed));
  const searchSoon = debounce(search, PAUSE_MS);

  const open = () => {
    if (dialog.open) return field.select();
    dialog.showModal();
    field.select();
    search();
  };

  const move = (step) => {
    const all = options();
    if (!all.length) return;
    const place = all.indexOf(active()) + step;
    activate(all[(place + all.length) % all.length]);
  };

  field.addEventListener("input", () => {
    isPending = true;
    isChosenEarly = false;
    search.stop(); // the answer to earlier input never counts for this one
    searchSoon();
  });
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      event.preventDefault(); // Escape would empty the field first
      dialog.close();
    } else if (step) {
      event.preventDefault();
      move(step);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const chosen = active();
      if (isPending) isChosenEarly = true;
      if (isPending || !chosen) return;
      if (event.ctrlKey || event.metaKey) window.open(chosen.href, "_blank", "noopener");
      else chosen.click();
    }
  });
  list.addEventListener("pointermove", (event) => {
    const option = event.target.closest("[role=option]");
    if (option && option.ariaSelected !== "true") activate(option);
  });
  list.addEventListener("click", (event) => {
    // A section of the open page: no page load closes the dialog.
    if (event.target.closest("[role=option]") && !event.ctrlKey && !event.metaKey) dialog.close();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // a click outside
  });
  dialog.querySelector("[data-palette-close]").addEventListener("click", () => dialog.close());
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  for (const button of document.querySelectorAll("[data-palette-open]")) button.addEventListener("click", open);
}
