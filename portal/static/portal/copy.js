// Copies the displayed text; if the browser does not allow that, selects the text for copying by hand.
"use strict";
const shown = document.querySelector("[data-copied-text]");
const button = document.querySelector("button[name=copy]");
const notice = document.querySelector("[data-copied-message]");
button.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(shown.textContent);
    notice.textContent = notice.dataset.copiedMessage;
    button.textContent = notice.dataset.copiedMessage;
  } catch {
    getSelection().selectAllChildren(shown);
  }
});
