// A row's page in a drawer beside its list, for lists that are read row after row. The row's link stays a link: with
// Ctrl, in a new tab and without scripts it opens the page.
"use strict";
const HASH = "#row=";

const words = document.querySelector("[data-drawer]")?.dataset;
if (words) start();

function start() {
  const list = window.location.pathname;
  const isRow = (path) => path.startsWith(list) && /^[^/]+\/change\/$/.test(path.slice(list.length));
  const links = () => [...document.querySelectorAll("#result_list a[href]")].filter((link) => isRow(link.pathname));
  const rows = () => [...new Set(links().map((link) => link.pathname))];
  let asked;

  const drawer = document.createElement("dialog");
  drawer.className = "drawer";
  drawer.setAttribute("aria-labelledby", "drawer-title");
  const head = document.createElement("div");
  head.className = "drawer-head";
  const title = document.createElement("h2");
  title.id = "drawer-title";
  title.tabIndex = -1;
  const button = (name, icon, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.setAttribute("aria-label", name);
    made.title = name;
    made.innerHTML = '<span class="material-symbols-outlined" aria-hidden="true"></span>';
    made.firstChild.textContent = icon;
    made.addEventListener("click", act);
    return made;
  };
  const step = (by) => {
    const all = rows();
    const place = all.indexOf(current()) + by;
    if (all[place]) history.replaceState({ drawer: true }, "", HASH + all[place]);
    sync();
  };
  const before = button(words.before, "expand_less", () => step(-1));
  const after = button(words.after, "expand_more", () => step(1));
  const page = document.createElement("a");
  page.className = "drawer-page";
  page.textContent = words.page;
  const acts = document.createElement("ul");
  acts.className = "drawer-acts";
  const body = document.createElement("div");
  body.className = "drawer-body";
  body.tabIndex = 0;
  head.append(title, before, after, button(words.close, "close", () => drawer.close()));
  drawer.append(head, page, acts, body);
  document.body.append(drawer);

  const current = () => {
    const path = window.location.hash.startsWith(HASH) ? decodeURIComponent(window.location.hash.slice(HASH.length)) : "";
    return isRow(path) ? path : "";
  };

  async function show(path) {
    asked?.abort();
    const { signal } = (asked = new AbortController());
    const all = rows();
    before.disabled = all.indexOf(path) < 1;
    after.disabled = all.indexOf(path) === all.length - 1 || !all.includes(path);
    page.href = path;
    drawer.setAttribute("aria-busy", "true");
    if (!drawer.open) {
      title.textContent = words.loading;
      acts.replaceChildren();
      body.replaceChildren();
      drawer.showModal();
    }
    try {
      const answer = await fetch(path, { signal, headers: { Accept: "text/html" } });
      if (answer.redirected || !answer.ok) {
        window.location.assign(path); // the login, or what the page says
        return;
      }
      fill(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      if (!signal.aborted) window.location.assign(path);
    }
  }

  function fill(found) {
    const crumbs = found.querySelectorAll("h1 a, h1 span.truncate");
    title.textContent = [...crumbs].at(-1)?.textContent.trim() || found.title;
    acts.replaceChildren(...[...found.querySelectorAll("[data-page-actions] li")].filter((each) => each.querySelector("a[href]")));
    const content = found.getElementById("content");
    // Read here, changed on its page: what is typed in a drawer would be gone with it.
    for (const gone of content.querySelectorAll("script, link, #submit-row, [type=submit], input[type=hidden]")) gone.remove();
    for (const field of content.querySelectorAll("input, select, textarea, button")) field.disabled = true;
    for (const form of content.querySelectorAll("form")) {
      const plain = document.createElement("div");
      plain.append(...form.childNodes);
      form.replaceWith(plain);
    }
    content.removeAttribute("id");
    body.replaceChildren(content);
    body.scrollTop = 0;
    drawer.removeAttribute("aria-busy");
    title.focus();
  }

  function sync() {
    const path = current();
    if (path) show(path);
    else if (drawer.open) drawer.close();
  }

  document.getElementById("result_list")?.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || link.target || !isRow(link.pathname)) return;
    event.preventDefault();
    history.pushState({ drawer: true }, "", HASH + link.pathname);
    sync();
  });
  drawer.addEventListener("close", () => {
    asked?.abort();
    if (!current()) return;
    const path = current();
    history.replaceState(null, "", window.location.pathname + window.location.search);
    links().find((link) => link.pathname === path)?.focus(); // the row that was read last
  });
  drawer.addEventListener("click", (event) => {
    if (event.target === drawer) drawer.close(); // beside it
  });
  window.addEventListener("popstate", sync);
  sync();
}
