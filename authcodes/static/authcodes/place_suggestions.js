// Offers places while somebody types a part of one, in each input that has `data-suggestions`: the address to ask.
"use strict";
(() => {
  const PAUSE = 200;
  let waiting = 0;
  let request = new AbortController();

  const listOf = (input) => {
    const known = document.getElementById(input.getAttribute("list") ?? "");
    if (known) return known;
    const list = document.createElement("datalist");
    list.id = `${input.name}-suggestions`;
    input.after(list);
    input.setAttribute("list", list.id);
    return list;
  };

  const offer = async (input) => {
    const address = new URL(input.dataset.suggestions, window.location.href);
    address.searchParams.set("q", input.value);
    request.abort();
    request = new AbortController();
    try {
      const answer = await fetch(address, { redirect: "error", signal: request.signal });
      if (!answer.ok) return;
      const { places } = await answer.json();
      const options = places.map((place) => Object.assign(document.createElement("option"), { value: place }));
      listOf(input).replaceChildren(...options);
    } catch {
      // Whoever types on asks again; without an answer the place can be typed in full.
    }
  };

  document.addEventListener("input", ({ target }) => {
    if (!target.matches?.("input[data-suggestions]") || !target.value.trim()) return;
    clearTimeout(waiting);
    waiting = setTimeout(offer, PAUSE, target);
  });
})();
