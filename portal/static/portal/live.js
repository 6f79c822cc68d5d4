// Updates a page's display of running work: polls until nothing runs, only in a visible tab, and less and less often
// while an address cannot be reached.
//   data-live-row, -column, -address  a cell of a list; its address answers with its HTML (portal/mixins/live_lists.py)
//   data-job, data-progress           a panel of a job; its data-field elements show the progress. Once the job has ended,
//                                     the part of the page that data-renew around it names is loaded again.
const PAUSE = 1000;
const MAX_PAUSE = 30000;

const visible = () =>
  new Promise((resolve) => {
    if (!document.hidden) return resolve();
    document.addEventListener("visibilitychange", () => resolve(visible()), { once: true });
  });

// Calls `ask` until it answers that nothing runs.
export const follow = async (ask, pause = PAUSE) => {
  let wait = pause;
  for (let goesOn = true; goesOn; ) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    await visible();
    try {
      goesOn = await ask();
      wait = pause;
    } catch {
      wait = Math.min(wait * 2, MAX_PAUSE);
    }
  }
};

export const request = async (address, parameters = []) => {
  const query = new URLSearchParams(parameters);
  const answer = await fetch(parameters.length ? `${address}?${query}` : address, { redirect: "error" });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer;
};

const ids = (texts) => [...new Set(texts)].map((id) => ["id", id]);

// Loads parts of the page again; everything else on it, such as a form being filled in, stays.
export const renew = async (names) => {
  const page = new DOMParser().parseFromString(await (await request(window.location.href)).text(), "text/html");
  for (const icon of page.querySelectorAll(".material-symbols-outlined")) icon.setAttribute("aria-hidden", "true");
  for (const name of names) {
    const [current, renewed] = [document, page].map((it) => it.querySelector(`[data-renew="${name}"]`));
    if (current && renewed) current.replaceWith(renewed);
  }
  watch();
};

// --- Cells of lists

const cells = () => [...document.querySelectorAll("[data-live-row]")];

const askOfRows = async () => {
  const listed = cells();
  for (const address of new Set(listed.map((cell) => cell.dataset.liveAddress))) {
    const own = () => cells().filter((cell) => cell.dataset.liveAddress === address);
    const columns = new Set(own().map((cell) => cell.dataset.liveColumn));
    const rows = ids(own().map((cell) => cell.dataset.liveRow));
    const answer = await request(address, [...rows, ...[...columns].map((name) => ["column", name])]);
    const answered = new Map((await answer.json()).rows.map((row) => [row.id, row]));
    for (const cell of own()) {
      const html = answered.get(cell.dataset.liveRow)?.columns[cell.dataset.liveColumn];
      if (!html) cell.removeAttribute("data-live-row"); // deleted, or no longer accessible
      else if (cell.outerHTML !== html) cell.outerHTML = html;
    }
  }
  return cells().length > 0;
};

// --- Panels of jobs

const panels = () => [...document.querySelectorAll("[data-job]")];

const show = (panel, job) => {
  const fields = [...panel.querySelectorAll("[data-field]"), ...(panel.dataset.field ? [panel] : [])];
  for (const element of fields) {
    const value = job[element.dataset.field];
    if (element instanceof HTMLProgressElement) element.value = value;
    else if (element.textContent !== value) element.textContent = value;
  }
};

const askOfJobs = async () => {
  const followed = panels();
  const answer = await request(followed[0].dataset.progress, ids(followed.map((panel) => panel.dataset.job)));
  const jobs = new Map((await answer.json()).jobs.map((job) => [String(job.id), job]));
  for (const panel of followed) {
    const job = jobs.get(panel.dataset.job);
    if (job) show(panel, job);
    else panel.removeAttribute("data-job");
  }
  const ended = followed.filter((panel) => jobs.get(panel.dataset.job)?.ended);
  const parts = ended.map((panel) => panel.closest("[data-renew]")?.dataset.renew);
  if (parts.includes(undefined)) {
    window.location.reload();
    return false;
  }
  if (parts.length) {
    await renew(new Set(parts));
    const stale = panels().some((panel) => jobs.get(panel.dataset.job)?.ended);
    if (stale) throw new Error("the page does not know yet");
  }
  return panels().length > 0;
};

const watcher = (elements, ask) => {
  let isOn = false;
  return async () => {
    if (isOn || !elements().length) return;
    isOn = true;
    await follow(ask);
    isOn = false;
  };
};
const watchRows = watcher(cells, askOfRows);
const watchJobs = watcher(panels, askOfJobs);

// Finds the elements to follow; called after something new came onto the page.
const watch = () => {
  watchRows();
  watchJobs();
};

watch();
