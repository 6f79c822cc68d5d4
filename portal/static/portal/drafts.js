// Keeps what somebody types in a form while their session ends: after they log in again the form is filled again.
// Kept in this tab alone, for the person who typed it and the page they typed it in. Never passwords, secrets or files.
"use strict";
(() => {
  const { user, words } = document.currentScript.dataset;
  const PREFIX = "draft:";
  const LIFE_MS = 12 * 3600 * 1000; // as long as a session
  const BACK_FROM = ["/admin/login/", "/admin/second-factor/", "/admin/invitation/"];
  const SKIPPED = new Set(["password", "file", "hidden", "submit", "button", "reset", "image"]);
  const SECRET = /password|secret|token|key|code\b/i;

  const stored = () => {
    try {
      return window.sessionStorage;
    } catch {
      return null; // a browser that keeps nothing
    }
  };
  const store = stored();
  if (!store || !user) return;
  const mine = `${PREFIX}${user}:`;
  for (const key of Object.keys(store)) {
    if (key.startsWith(PREFIX) && !key.startsWith(mine)) store.removeItem(key); // somebody else's, of before
  }

  for (const each of document.querySelectorAll('form[action$="/logout/"]')) {
    each.addEventListener("submit", () => {
      for (const key of Object.keys(store)) if (key.startsWith(PREFIX)) store.removeItem(key);
    });
  }

  const form = document.querySelector("form.warn-unsaved-form");
  if (!form) return;
  const key = mine + window.location.pathname;
  const isKept = (field) =>
    field.name && !SKIPPED.has(field.type) && !SECRET.test(field.name) && field.autocomplete !== "off";
  const fields = () => [...form.elements].filter(isKept);
  const valueOf = (field) => {
    if (field.type === "checkbox" || field.type === "radio") return { on: field.checked, value: field.value };
    if (field.tagName === "SELECT") {
      return { chosen: [...field.selectedOptions].map((option) => [option.value, option.text]) };
    }
    return { value: field.value };
  };
  const version = form.elements.namedItem("row_version"); // what the row was like when the form was opened
  const isRefused = form.querySelector("[data-refused]") !== null; // then all of it was typed
  const first = new Map(fields().map((field) => [field, JSON.stringify(valueOf(field))]));

  const remember = () => {
    const typed = fields()
      .map((field) => [field, valueOf(field)])
      .filter(([field, value]) => isRefused || first.get(field) !== JSON.stringify(value))
      .map(([field, value]) => ({ name: field.name, type: field.type, ...value }));
    try {
      if (typed.length) store.setItem(key, JSON.stringify({ at: Date.now(), version: version?.value, typed }));
      else store.removeItem(key);
    } catch {
      // Full: what was typed stays on the page as ever.
    }
  };

  const choose = (field, chosen) => {
    const wanted = new Set(chosen.map(([value]) => value));
    for (const [value, text] of chosen) {
      // Choices that are looked up while they are typed are not on a new page.
      if (![...field.options].some((option) => option.value === value)) field.add(new Option(text, value));
    }
    for (const option of field.options) option.selected = wanted.has(option.value);
  };
  const fill = (typed) => {
    let filled = 0;
    for (const each of typed) {
      const isOne = each.type === "checkbox" || each.type === "radio";
      const field = fields().find((it) => it.name === each.name && (!isOne || it.value === each.value));
      if (!field) continue;
      if (each.chosen) choose(field, each.chosen);
      else if (isOne) field.checked = each.on;
      else field.value = each.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.dispatchEvent(new Event("change", { bubbles: true }));
      filled += 1;
    }
    return filled;
  };

  const cameBack = () => {
    if (window.location.hash === "#typed") return true;
    try {
      const from = new URL(document.referrer);
      return from.origin === window.location.origin && BACK_FROM.some((path) => from.pathname.startsWith(path));
    } catch {
      return false; // none
    }
  };
  const draft = () => {
    try {
      const found = JSON.parse(store.getItem(key));
      return found && Date.now() - found.at < LIFE_MS ? found : null;
    } catch {
      return null;
    }
  };

  window.addEventListener("load", () => {
    const found = cameBack() ? draft() : null;
    if (found && fill(found.typed)) {
      if (version && found.version) version.value = found.version; // what others saved meanwhile is said, not undone
      const notice = document.createElement("p");
      notice.setAttribute("role", "status");
      notice.className =
        "bg-blue-100 text-blue-700 mb-4 px-3 py-3 rounded-default text-sm dark:bg-blue-500/20 dark:text-blue-400";
      notice.textContent = words;
      form.prepend(notice);
    } else if (isRefused) {
      remember();
    } else {
      store.removeItem(key);
    }
    form.addEventListener("input", remember);
    form.addEventListener("change", remember);
    form.addEventListener("submit", remember);
  });
})();
