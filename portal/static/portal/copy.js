// Copies the shown text; where the browser refuses, it marks the text for copying by hand.
"use strict";
const shown = document.querySelector("[data-copied-text]");
const button = document.querySelector("button[name=copy]");
const told = document.querySelector("[data-copied-words]");
button.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(shown.textContent);
    told.textContent = told.dataset.copiedWords;
    button.textContent = told.dataset.copiedWords;
  } catch {
    getSelection().selectAllChildren(shown);
  }
});
