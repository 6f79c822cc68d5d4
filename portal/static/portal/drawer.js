// Opens a row's page in a drawer next to its list, for lists that are read row by row. The row's link stays a link:
// with Ctrl, in a new tab and without scripts it opens the page.
import { button, element } from "./elements.js";

const HASH = "#row=";

const texts = document.querySelector("[data-drawer]")?.dataset;
if (texts) start();

function start() {
  const list = window.location.pathname;
  const isRow = (path) => path.startsWith(list) && /^[^/]+\/change\/$/.test(path.slice(list.length));
  const links = () => [...document.querySelectorAll("#result_list a[href]")].filter((link) => isRow(link.pathname));
  const rows = () => [...new Set(links().map((link) => link.pathname))];
  let loading;

  const drawer = element("dialog", { className: "drawer" });
  drawer.setAttribute("aria-labelledby", "drawer-title");
  const title = element("h2", { id: "drawer-title", tabIndex: -1 });
  const iconButton = (name, icon, act) => {
    const made = button("", act, { title: name, ariaLabel: name });
    made.append(element("span", { className: "material-symbols-outlined", textContent: icon, ariaHidden: "true" }));
    return made;
  };
  const step = (by) => {
    const all = rows();
    const place = all.indexOf(current()) + by;
    if (all[place]) history.replaceState({ drawer: true }, "", HASH + all[place]);
    sync();
  };
  const before = iconButton(texts.before, "expand_less", () => step(-1));
  const after = iconButton(texts.after, "expand_more", () => step(1));
  const close = iconButton(texts.close, "close", () => drawer.close());
  const head = element("div", { className: "drawer-head" }, title, before, after, close);
  const page = element("a", { className: "drawer-page", textContent: texts.page });
  const actions = element("ul", { className: "drawer-actions" });
  const body = element("div", { className: "drawer-body", tabIndex: 0 });
  drawer.append(head, page, actions, body);
  document.body.append(drawer);

  const current = () => {
    const path = window.location.hash.startsWith(HASH) ? decodeURIComponent(window.location.hash.slice(HASH.length)) : "";
    return isRow(path) ? path : "";
  };

  async function show(path) {
    loading?.abort();
    const { signal } = (loading = new AbortController());
    const all = rows();
    before.disabled = all.indexOf(path) < 1;
    after.disabled = all.indexOf(path) === all.length - 1 || !all.includes(path);
    page.href = path;
    drawer.setAttribute("aria-busy", "true");
    if (!drawer.open) {
      title.textContent = texts.loading;
      actions.replaceChildren();
      body.replaceChildren();
      drawer.showModal();
    }
    try {
      const answer = await fetch(path, { signal, headers: { Accept: "text/html" } });
      if (answer.redirected || !answer.ok) {
        window.location.assign(path); // the login, or the page's own message
        return;
      }
      fill(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      if (!signal.aborted) window.location.assign(path);
    }
  }

  function fill(loaded) {
    const crumbs = loaded.querySelectorAll("h1 a, h1 span.truncate");
    title.textContent = [...crumbs].at(-1)?.textContent.trim() || loaded.title;
    actions.replaceChildren(...[...loaded.querySelectorAll("[data-page-actions] li")].filter((each) => each.querySelector("a[href]")));
    const content = loaded.getElementById("content");
    // The drawer is read-only, changes are made on the page: closing a drawer would lose what was typed in it.
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
    loading?.abort();
    if (!current()) return;
    const path = current();
    history.replaceState(null, "", window.location.pathname + window.location.search);
    links().find((link) => link.pathname === path)?.focus(); // the row read last
  });
  drawer.addEventListener("click", (event) => {
    if (event.target === drawer) drawer.close(); // a click outside
  });
  window.addEventListener("popstate", sync);
  sync();
}
