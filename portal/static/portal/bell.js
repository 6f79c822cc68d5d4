// Fills the bell with the jobs that one started, and follows them while they run. A tab that nobody looks at asks nothing.
const PAUSE = 2000;
const LONGEST_PAUSE = 30000;

const bell = document.querySelector("[data-bell]");
const rows = bell.querySelector("[data-bell-rows]");
const mark = bell.querySelector("[data-bell-mark]");
const button = bell.querySelector("summary");
let running = 0;
let pause = PAUSE;
let timer = 0;

const show = (jobs) => {
  if (rows.innerHTML !== jobs.html) rows.innerHTML = jobs.html;
  const ended = running > jobs.running;
  running = jobs.running;
  button.setAttribute("aria-label", jobs.name);
  button.title = jobs.name;
  mark.hidden = !(running || ended || mark.dataset.ended);
  mark.textContent = running || "";
  if (ended && !bell.open) mark.dataset.ended = "yes";
};

const ask = async () => {
  clearTimeout(timer);
  try {
    const answer = await fetch(bell.dataset.bell, { redirect: "error" });
    if (!answer.ok) throw new Error(answer.statusText);
    show(await answer.json());
    pause = PAUSE;
  } catch {
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
  if (running && !document.hidden) timer = setTimeout(ask, pause);
};

bell.addEventListener("toggle", () => {
  if (!bell.open) return;
  delete mark.dataset.ended;
  mark.hidden = !running;
  ask();
});
document.addEventListener("visibilitychange", () => document.hidden || ask());
ask();
