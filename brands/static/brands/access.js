// Makes usable by keyboard and by ear what django-unfold draws for eyes and a mouse alone.
"use strict";
(() => {
  const words = document.currentScript.dataset;
  const names = { dock_to_right: words.menu, more_vert: words.more, close: words.close };
  const isButton = (element) => !element.closest("a, button, label") && !element.matches("input, select, textarea");

  // Icons are words to a screen reader: inventory_2, qr_code_scanner.
  for (const icon of document.querySelectorAll(".material-symbols-outlined:not([x-on\\:click])")) {
    icon.setAttribute("aria-hidden", "true");
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
  // Fields in a table are named by its columns.
  for (const field of document.querySelectorAll("td input, td select, td textarea")) {
    const cell = field.closest("td");
    const column = cell.closest("table")?.tHead?.rows[0]?.cells[cell.cellIndex];
    if (column && !field.labels?.length && !field.ariaLabel) field.setAttribute("aria-label", column.textContent.trim());
  }
})();
