// Fills the bell with the user's jobs, and follows them while they run.
import { follow, request } from "./live.js";

const PAUSE = 2000;

const bell = document.querySelector("[data-bell]");
const rows = bell.querySelector("[data-bell-rows]");
const mark = bell.querySelector("[data-bell-mark]");
const button = bell.querySelector("summary");
let running = 0;
let isFollowing = false;

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
  show(await (await request(bell.dataset.bell)).json());
  return running > 0;
};

const refresh = async () => {
  if (isFollowing) return;
  isFollowing = true;
  const goesOn = await ask().catch(() => false);
  if (goesOn) await follow(ask, PAUSE);
  isFollowing = false;
};

bell.addEventListener("toggle", () => {
  if (!bell.open) return;
  delete mark.dataset.ended;
  mark.hidden = !running;
  refresh();
});
document.addEventListener("visibilitychange", () => document.hidden || refresh());
refresh();
