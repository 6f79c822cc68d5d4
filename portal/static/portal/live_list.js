// Keeps the rows of a list current while work goes on at them: asks for the columns that change, and stops when no row
// changes any more. A tab that nobody looks at asks nothing.
const PAUSE = 1000;
const LONGEST_PAUSE = 30000;

const shownRows = () => [...document.querySelectorAll("[data-live-row]")];

const show = (cell, html) => {
  if (cell.outerHTML === html) return;
  const template = document.createElement("template");
  template.innerHTML = html;
  cell.replaceWith(template.content);
};

const ask = async () => {
  const shown = shownRows();
  const ids = [...new Set(shown.map((cell) => cell.dataset.liveRow))];
  const query = new URLSearchParams(ids.map((id) => ["id", id]));
  const answer = await fetch(`${shown[0].dataset.liveAddress}?${query}`, { redirect: "error" });
  if (!answer.ok) throw new Error(answer.statusText);
  const rows = new Map((await answer.json()).rows.map((row) => [row.id, row]));
  for (const cell of shownRows()) {
    const row = rows.get(cell.dataset.liveRow);
    const html = row?.columns[cell.dataset.liveColumn];
    if (html) show(cell, html);
    else cell.removeAttribute("data-live-row"); // gone, or out of reach by now
  }
};

const visible = () =>
  new Promise((resolve) => {
    if (!document.hidden) return resolve();
    document.addEventListener("visibilitychange", () => resolve(visible()), { once: true });
  });

const watch = async () => {
  let pause = PAUSE;
  while (shownRows().length) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    await visible();
    try {
      await ask();
      pause = PAUSE;
    } catch {
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }
};

watch();
