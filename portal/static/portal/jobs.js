// Keeps what a page shows of jobs current: asks how far they are, and loads the page anew when one has ended.
(() => {
  const PAUSE = 1000;
  const LONGEST_PAUSE = 30000;

  const show = (panel, job) => {
    const told = [...panel.querySelectorAll("[data-tell]"), ...(panel.dataset.tell ? [panel] : [])];
    for (const element of told) {
      const value = job[element.dataset.tell];
      if (element instanceof HTMLProgressElement) {
        element.value = value;
      } else if (element.textContent !== value) {
        element.textContent = value;
      }
    }
  };

  const ask = async (panels) => {
    const query = new URLSearchParams(panels.map((panel) => ["id", panel.dataset.job]));
    const answer = await fetch(`${panels[0].dataset.progress}?${query}`, { redirect: "error" });
    if (!answer.ok) throw new Error(answer.statusText);
    return new Map((await answer.json()).jobs.map((job) => [String(job.id), job]));
  };

  const watch = async (panels, pause) => {
    let next = PAUSE;
    try {
      const jobs = await ask(panels);
      for (const panel of panels) {
        const job = jobs.get(panel.dataset.job);
        if (job?.ended) {
          window.location.reload();
          return;
        }
        if (job) show(panel, job);
      }
    } catch {
      next = Math.min(pause * 2, LONGEST_PAUSE);
    }
    setTimeout(() => watch(panels, next), next);
  };

  document.addEventListener("DOMContentLoaded", () => {
    const panels = [...document.querySelectorAll("[data-job]")];
    if (panels.length) setTimeout(() => watch(panels, PAUSE), PAUSE);
  });
})();
