// Sends the form as soon as a brand or a language is chosen; its button is for browsers without scripts.
"use strict";
for (const form of document.querySelectorAll(":is([data-brand-switcher], [data-language-choice]):not([data-ready])")) {
  form.dataset.ready = "";
  form.querySelector("button").hidden = true;
  form.querySelector("select").addEventListener("change", () => form.requestSubmit());
}
