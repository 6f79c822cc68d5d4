// Shows in a panel what a form would make, while it is being filled in: the answer of `data-live`, which is asked with
// the fields of the form whose id is `data-live-form`.
(() => {
  const PAUSE = 400;

  document.addEventListener("DOMContentLoaded", () => {
    const panel = document.querySelector("[data-live]");
    const form = panel && document.getElementById(panel.dataset.liveForm);
    if (!form) return;

    let asked = "";
    let waiting = 0;
    let request = new AbortController();

    const ask = async () => {
      const address = new URL(panel.dataset.live, window.location.href);
      for (const [name, value] of new FormData(form)) {
        if (name !== "csrfmiddlewaretoken") address.searchParams.append(name, value);
      }
      if (address.href === asked) return;
      asked = address.href;
      request.abort();
      request = new AbortController();
      panel.setAttribute("aria-busy", "true");
      try {
        const answer = await fetch(address, { redirect: "error", signal: request.signal });
        if (!answer.ok) throw new Error(answer.statusText);
        panel.innerHTML = await answer.text();
        panel.setAttribute("aria-busy", "false");
      } catch (error) {
        if (error.name === "AbortError") return;
        asked = "";
        panel.setAttribute("aria-busy", "false");
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
