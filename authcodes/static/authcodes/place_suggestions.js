// Suggests places while the user types, in each input with `data-suggestions`: the address of the suggestions.
import { debounce, latestOnly } from "../portal/requests.js";

const PAUSE = 200;

const listOf = (input) => {
  const known = document.getElementById(input.getAttribute("list") ?? "");
  if (known) return known;
  const list = document.createElement("datalist");
  list.id = `${input.name}-suggestions`;
  input.after(list);
  input.setAttribute("list", list.id);
  return list;
};

// Without an answer the user can type the place in full.
const offer = latestOnly(async (signal, input) => {
  const address = new URL(input.dataset.suggestions, window.location.href);
  address.searchParams.set("q", input.value);
  const answer = await fetch(address, { redirect: "error", signal });
  if (!answer.ok) return;
  const { places } = await answer.json();
  const options = places.map((place) => Object.assign(document.createElement("option"), { value: place }));
  listOf(input).replaceChildren(...options);
});
const offerSoon = debounce(offer, PAUSE);

document.addEventListener("input", ({ target }) => {
  if (target.matches?.("input[data-suggestions]") && target.value.trim()) offerSoon(target);
});
