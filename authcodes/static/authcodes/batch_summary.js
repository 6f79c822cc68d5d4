// Says below the form of a new batch what it would make, while it is being filled in.
(() => {
  const PAUSE = 300;

  document.addEventListener("DOMContentLoaded", () => {
    const panel = document.querySelector("[data-summary]");
    const form = document.getElementById("batchrange_form");
    if (!panel || !form) return;

    let asked = "";
    let waiting = 0;
    let request = new AbortController();

    const ask = async () => {
      const filled = new FormData(form);
      filled.delete("csrfmiddlewaretoken");
      const query = new URLSearchParams(filled).toString();
      if (query === asked) return;
      asked = query;
      request.abort();
      request = new AbortController();
      try {
        const answer = await fetch(`${panel.dataset.summary}?${query}`, { redirect: "error", signal: request.signal });
        if (!answer.ok) throw new Error(answer.statusText);
        panel.innerHTML = await answer.text();
      } catch (error) {
        if (error.name !== "AbortError") asked = "";
      }
    };
    const soon = () => {
      clearTimeout(waiting);
      waiting = setTimeout(ask, PAUSE);
    };

    // The calendar and the look-ups tell of a choice in ways of their own, but all move the focus.
    for (const kind of ["input", "change", "focusin", "focusout"]) form.addEventListener(kind, soon);
    window.django?.jQuery?.(form).on("change", soon);
    ask();
  });
})();
