// "?" opens the guide's section for the page, unless the user is typing.
"use strict";
const link = document.querySelector("[data-help]");
const TYPING = "input, textarea, select, [contenteditable], [role=combobox], [role=textbox]";
if (link) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(TYPING) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    link.click();
  });
}
