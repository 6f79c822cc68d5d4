// Copies the displayed text; if the browser does not allow that, selects the text for copying by hand.
"use strict";
const source = document.querySelector("[data-copied-text]");
const button = document.querySelector("button[name=copy]");
const message = document.querySelector("[data-copied-message]");
button.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(source.textContent);
    message.textContent = message.dataset.copiedMessage;
    button.textContent = message.dataset.copiedMessage;
  } catch {
    getSelection().selectAllChildren(source);
  }
});
