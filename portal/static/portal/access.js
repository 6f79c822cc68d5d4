// Makes django-unfold's mouse-only elements usable with the keyboard and screen readers.
"use strict";
(() => {
  const texts = document.currentScript.dataset;
  const names = { dock_to_right: texts.menu, more_vert: texts.more, close: texts.close };
  // Icons that point in the text direction are mirrored from right to left.
  const POINTING = /^(arrow|chevron|keyboard_arrow)_(left|right|forward|back)(_alt)?$|^(dock_to_right|login|logout|redo|undo)$/;
  const isButton = (element) => !element.closest("a, button, label") && !element.matches("input, select, textarea");

  // A screen reader would read an icon's name: inventory_2, qr_code_scanner.
  for (const icon of document.querySelectorAll(".material-symbols-outlined:not([x-on\\:click])")) {
    icon.setAttribute("aria-hidden", "true");
  }
  for (const icon of document.querySelectorAll("[dir=rtl] .material-symbols-outlined")) {
    icon.classList.toggle("is-pointing", POINTING.test(icon.textContent.trim()));
  }
  for (const element of document.querySelectorAll(".cursor-pointer[x-on\\:click], .material-symbols-outlined[x-on\\:click]")) {
    if (!isButton(element)) continue;
    element.tabIndex = 0;
    element.setAttribute("role", "button");
    const name = names[element.textContent.trim()];
    if (name) element.setAttribute("aria-label", name);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      element.click();
    });
  }
  const content = document.getElementById("content");
  if (content) content.tabIndex = -1;

  // select2 later draws a field of its own, without the label.
  const nameDrawn = (container) => {
    const label = container.previousElementSibling?.labels?.[0];
    const box = container.querySelector("[role=combobox]");
    const text = container.querySelector("[role=textbox]");
    if (!label || !box) return;
    label.id ||= `label-${container.previousElementSibling.id}`;
    box.setAttribute("aria-labelledby", text ? `${label.id} ${text.id}` : label.id);
    text?.setAttribute("aria-labelledby", label.id);
  };
  document.querySelectorAll(".select2-container").forEach(nameDrawn);
  new MutationObserver((changes) => {
    for (const added of changes.flatMap((change) => [...change.addedNodes])) {
      if (added.matches?.(".select2-container")) nameDrawn(added);
    }
  }).observe(document.body, { childList: true, subtree: true });

  // Scrollable areas, sideways on a phone or down in a box, can be scrolled with the keyboard.
  const scrolls = (area) => {
    const wide = area.scrollWidth > area.clientWidth + 1;
    const tall = area.scrollHeight > area.clientHeight + 1;
    if (!wide && !tall) return false;
    const { overflowX, overflowY } = getComputedStyle(area);
    return (wide && /auto|scroll/.test(overflowX)) || (tall && /auto|scroll/.test(overflowY));
  };
  const makeFocusable = () => {
    for (const area of document.querySelectorAll("#content *")) {
      if (!area.matches("input, select, textarea") && scrolls(area)) area.tabIndex = 0;
    }
  };
  addEventListener("load", makeFocusable);
  addEventListener("resize", makeFocusable);

  // Fields in a table are labelled by its columns.
  for (const field of document.querySelectorAll("td input, td select, td textarea")) {
    const cell = field.closest("td");
    const column = cell.closest("table")?.tHead?.rows[0]?.cells[cell.cellIndex];
    if (column && !field.labels?.length && !field.ariaLabel) field.setAttribute("aria-label", column.textContent.trim());
  }
})();
