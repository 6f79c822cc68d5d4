// A new recall. Step 1 shows the fields that its choice uses; step 2 keeps the preview as the words are typed. What was
// shown last is what the number confirms: the page sends its fingerprint along.
const PAUSE = 400;

const what = document.querySelector("[data-recall-what]");
if (what) {
  const show = () => {
    const chosen = new FormData(what).get("what");
    for (const part of what.querySelectorAll("[data-of]")) {
      part.hidden = part.dataset.of !== chosen;
      for (const field of part.querySelectorAll("input, select")) field.disabled = part.hidden;
    }
  };
  what.addEventListener("change", show);
  show();
}

const words = document.querySelector("[data-recall-words]");
if (words) {
  const place = words.querySelector("[data-recall-preview]");
  const previewed = words.querySelector("[name=previewed]");
  let timer = 0;
  let asked = null;

  const replace = (html) => {
    const open = new Set([...place.querySelectorAll("details[open]")].map((part) => part.dataset.drawing));
    const template = document.createElement("template");
    template.innerHTML = html;
    for (const part of template.content.querySelectorAll("[data-drawing]")) part.open = open.has(part.dataset.drawing);
    place.replaceChildren(template.content);
    previewed.value = place.querySelector("[data-fingerprint]").dataset.fingerprint;
  };

  const refresh = async () => {
    asked?.abort();
    asked = new AbortController();
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(words.dataset.recallWords, {
        method: "POST",
        body: new FormData(words),
        redirect: "error",
        signal: asked.signal,
      });
      if (answer.ok) replace(await answer.text());
    } catch {
      // The page's own button shows the preview too.
    }
    place.removeAttribute("aria-busy");
  };

  words.addEventListener("input", (event) => {
    if (!/^(recall_id|contact|message(_[a-z]+)?)$/.test(event.target.name)) return;
    previewed.value = ""; // until what is typed has been shown
    clearTimeout(timer);
    timer = setTimeout(refresh, PAUSE);
  });
}
