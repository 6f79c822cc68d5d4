// Shows beside the print form what page 1 would be, while the form is being filled in.
(() => {
  const PAUSE = 400;

  document.addEventListener("DOMContentLoaded", () => {
    const panel = document.querySelector("[data-preview]");
    const form = document.getElementById("print_form");
    if (!panel || !form) return;

    let asked = "";
    let waiting = 0;
    let request = new AbortController();

    const ask = async () => {
      const address = new URL(panel.dataset.preview, window.location.href);
      for (const [name, value] of new FormData(form)) {
        if (name !== "csrfmiddlewaretoken") address.searchParams.append(name, value);
      }
      if (address.href === asked) return;
      asked = address.href;
      request.abort();
      request = new AbortController();
      try {
        const answer = await fetch(address, { redirect: "error", signal: request.signal });
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

    for (const kind of ["input", "change"]) form.addEventListener(kind, soon);
    ask();
  });
})();
