// Choosing a brand is enough; the button is for those without scripts.
"use strict";
for (const form of document.querySelectorAll("[data-brand-switcher]:not([data-ready])")) {
  form.dataset.ready = "";
  form.querySelector("button").hidden = true;
  form.querySelector("select").addEventListener("change", () => form.requestSubmit());
}
