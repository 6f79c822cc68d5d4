// Stores what a user types in the portal's forms until it is saved, and offers to restore it. If the session ended
// while the user was typing, the form is filled again automatically.
//
// Stored only in this tab, per user, brand and page; never passwords, secrets or files. Deleted when the form is
// saved, when the user logs out, and when another user logs in.
"use strict";
(() => {
  const texts = document.currentScript.dataset;
  const { user, brand } = texts;
  const PREFIX = "draft:";
  const SENT = "sent:";
  const SAVED_COOKIE = "portal_saved"; // in which the server names the drafts that it has saved
  const MAX_SENT = 20;
  const MAX_IDS = 10; // as many as saved_drafts.py accepts
  const LIFE_MS = 12 * 3600 * 1000; // as long as a session
  const TWICE_MS = 3000; // a form sent again within this time was clicked twice
  const BACK_FROM = ["/admin/login/", "/admin/second-factor/", "/admin/invitation/"];
  const SKIPPED = new Set(["password", "file", "hidden", "submit", "button", "reset", "image"]);
  const SECRET = /password|secret|token|key|credential|certificate|code\b/i;

  const stored = () => {
    try {
      return window.sessionStorage;
    } catch {
      return null; // the browser has no storage
    }
  };
  const store = stored();
  if (!store || !user) return;
  const ownPrefix = `${PREFIX}${user}:`;
  const isOurs = (key) => key.startsWith(PREFIX) || key.startsWith(SENT);
  for (const key of Object.keys(store)) {
    if (isOurs(key) && !key.startsWith(ownPrefix) && key !== SENT + user) store.removeItem(key); // an earlier user's
  }
  for (const each of document.querySelectorAll('form[action$="/logout/"]')) {
    each.addEventListener("submit", () => Object.keys(store).filter(isOurs).forEach((key) => store.removeItem(key)));
  }

  const read = (key) => {
    try {
      return JSON.parse(store.getItem(key));
    } catch {
      return null;
    }
  };
  const write = (key, value) => {
    try {
      store.setItem(key, JSON.stringify(value));
    } catch {
      // The storage is full: the text is still on the page.
    }
  };
  const page = `${ownPrefix}${brand}:${window.location.pathname}`;
  const drafts = () => Object.keys(store).filter((key) => key.startsWith(ownPrefix));
  const sent = () => read(SENT + user) ?? [];

  removeSaved();
  const forms = [...document.querySelectorAll("#content form")].filter((form) => form.method === "post");
  const typedInto = forms.filter((form) => !("noDraft" in form.dataset) && form.id !== "changelist-form" && fields(form).length);
  typedInto.forEach(watch);
  for (const form of forms.filter((each) => "savesDrafts" in each.dataset)) {
    // The second step of a form that was typed in the first, at the same address: saving it saves both.
    const ids = drafts().filter((key) => key.startsWith(`${page}#`)).map((key) => read(key)?.id);
    if (ids.length) carry(form, ids.filter(Boolean).slice(0, MAX_IDS).join("."));
  }

  function removeSaved() {
    const cookie = document.cookie.split("; ").find((each) => each.startsWith(`${SAVED_COOKIE}=`));
    if (!cookie) return;
    const ids = cookie.slice(SAVED_COOKIE.length + 1).split(".");
    document.cookie = `${SAVED_COOKIE}=; path=/admin/; max-age=0; samesite=lax`;
    const paths = [];
    for (const key of drafts()) {
      const draft = read(key);
      if (!ids.includes(draft?.id)) continue;
      paths.push(key.slice(0, key.indexOf("#")));
      store.removeItem(key);
    }
    write(SENT + user, [...sent(), ...ids, ...paths].slice(-MAX_SENT));
  }

  // Hidden fields store the rows of conditions and limits.
  function isStorable(field) {
    return (
      field.name &&
      (!SKIPPED.has(field.type) || "rulePart" in field.dataset) &&
      !SECRET.test(field.name) &&
      field.autocomplete !== "off" &&
      field.tagName !== "FIELDSET"
    );
  }

  function fields(form) {
    return [...form.elements].filter(isStorable);
  }

  function carry(form, ids) {
    let field = form.elements.namedItem("draft");
    if (!field) {
      field = document.createElement("input");
      field.type = "hidden";
      field.name = "draft";
      form.append(field);
    }
    field.value = ids;
  }

  function showMessage(form, text, actions) {
    const made = document.createElement("div");
    made.className = "form-notice";
    made.setAttribute("role", "status");
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    made.append(paragraph);
    for (const [name, act] of actions) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => {
        made.remove();
        act();
      });
      made.append(button);
    }
    form.prepend(made);
    return made;
  }

  function watch(form) {
    const key = `${page}#${form.id || form.getAttribute("action") || typedInto.indexOf(form)}`;
    const newId = () => [...crypto.getRandomValues(new Uint8Array(12))].map((each) => each.toString(16).padStart(2, "0")).join("");
    const earlier = fresh(read(key));
    let id = earlier?.id ?? newId();
    carry(form, id);

    const valueOf = (field) => {
      if (field.type === "checkbox" || field.type === "radio") return { on: field.checked, value: field.value };
      if (field.tagName === "SELECT") {
        return { chosen: [...field.selectedOptions].map((option) => [option.value, option.text]) };
      }
      return { value: field.value };
    };
    const version = form.elements.namedItem("row_version"); // the row's version when the form was opened
    const isRejected = form.querySelector("[data-rejected], .errorlist, .errors, [aria-invalid=true]") !== null; // every value was typed
    const first = new Map(fields(form).map((field) => [field, JSON.stringify(valueOf(field))]));
    const chosenFiles = () =>
      [...form.elements].filter((field) => field.type === "file" && field.files.length).map((field) => field.labels?.[0]?.textContent.trim() || field.name);

    const remember = () => {
      const typed = fields(form)
        .map((field) => [field, valueOf(field)])
        .filter(([field, value]) => isRejected || first.get(field) !== JSON.stringify(value))
        .map(([field, value]) => ({ name: field.name, type: field.type, ...value }));
      const files = chosenFiles();
      if (typed.length || files.length) write(key, { id, at: Date.now(), version: version?.value, typed, files });
      else store.removeItem(key);
    };

    const choose = (field, chosen) => {
      const selected = new Set(chosen.map(([value]) => value));
      for (const [value, text] of chosen) {
        // A new page does not have choices that are looked up while typing.
        if (![...field.options].some((option) => option.value === value)) field.add(new Option(text, value));
      }
      for (const option of field.options) option.selected = selected.has(option.value);
    };
    const fill = (typed) => {
      let filled = 0;
      for (const each of typed) {
        const isOne = each.type === "checkbox" || each.type === "radio";
        const field = fields(form).find((it) => it.name === each.name && (!isOne || it.value === each.value));
        if (!field) continue;
        if (each.chosen) choose(field, each.chosen);
        else if (isOne) field.checked = each.on;
        else field.value = each.value;
        if (field.type !== "hidden") field.dispatchEvent(new Event("input", { bubbles: true }));
        field.dispatchEvent(new Event("change", { bubbles: true }));
        filled += 1;
      }
      return filled;
    };

    const isDisplayed = (draft) =>
      !draft.files?.length &&
      draft.typed.every((each) => {
        const isOne = each.type === "checkbox" || each.type === "radio";
        const field = fields(form).find((it) => it.name === each.name && (!isOne || it.value === each.value));
        return field && JSON.stringify({ name: field.name, type: field.type, ...valueOf(field) }) === JSON.stringify(each);
      });
    const aboutFiles = (draft) => (draft.files?.length ? texts.files.replace("{fields}", draft.files.join(", ")) : "");
    const restore = (draft) => {
      if (!fill(draft.typed) && !draft.files?.length) return false;
      if (version && draft.version) version.value = draft.version; // what others have saved since is reported, not undone
      remember();
      return true;
    };
    const discard = () => {
      store.removeItem(key);
      id = newId();
      carry(form, id);
    };

    let isSent = false;
    form.addEventListener("submit", (event) => {
      if (isSent && !("maySendTwice" in form.dataset)) {
        event.preventDefault();
        return;
      }
      remember();
      isSent = true;
      setTimeout(() => event.defaultPrevented && (isSent = false)); // the page itself has reported what is missing
      setTimeout(() => (isSent = false), TWICE_MS); // an answer that downloads a file does not leave the page
    });
    window.addEventListener("pageshow", (event) => {
      isSent = false;
      if (event.persisted) removeSaved();
      const kind = performance.getEntriesByType("navigation")[0]?.type;
      const isBack = event.persisted || (kind === "back_forward" && !version && !isRejected);
      if (!isBack || !(sent().includes(id) || sent().includes(page)) || form.querySelector(".form-notice")) return;
      showMessage(form, texts.sent, [[texts.reload, () => window.location.assign(window.location.pathname + window.location.search)]]);
      discard(); // what is typed from now on is a new draft
    });

    window.addEventListener("load", () => {
      if (earlier && isRejected) {
        if (aboutFiles(earlier)) showMessage(form, aboutFiles(earlier), []);
        remember();
      } else if (earlier && cameBack()) {
        if (restore(earlier)) showMessage(form, `${texts.restored} ${aboutFiles(earlier)}`.trim(), []);
      } else if (earlier && !isDisplayed(earlier)) {
        const at = new Date(earlier.at);
        const isToday = at.toDateString() === new Date().toDateString();
        const time = at.toLocaleString(texts.language, { ...(isToday ? {} : { day: "numeric", month: "short" }), hour: "2-digit", minute: "2-digit" });
        const text = `${texts.found.replace("{time}", time)} ${aboutFiles(earlier)}`.trim();
        showMessage(form, text, [[texts.restore, () => restore(earlier)], [texts.discard, discard]]);
      } else if (isRejected) {
        remember();
      }
      form.addEventListener("input", remember);
      form.addEventListener("change", remember);
    });
  }

  function fresh(draft) {
    return draft && Date.now() - draft.at < LIFE_MS ? draft : null;
  }

  function cameBack() {
    if (window.location.hash === "#typed") return true;
    try {
      const from = new URL(document.referrer);
      return from.origin === window.location.origin && BACK_FROM.some((path) => from.pathname.startsWith(path));
    } catch {
      return false; // none
    }
  }
})();
