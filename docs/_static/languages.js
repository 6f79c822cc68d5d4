/* The API guide has each call in several languages: shows one at a time and saves the reader's choice. Without scripts, all show. */
(() => {
  const NAMES = { sh: "curl", python: "Python", ts: "TypeScript" };
  const KEY = "language-of-examples";
  const groups = [];

  const languageOf = (block) => Object.keys(NAMES).find((name) => block.classList?.contains(`highlight-${name}`));

  function group(blocks) {
    const bar = document.createElement("div");
    bar.className = "languages";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Language of the example");
    const members = blocks.map((block) => {
      const name = languageOf(block);
      const button = bar.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = NAMES[name];
      button.addEventListener("click", () => {
        const before = bar.getBoundingClientRect().top;
        choose(name);
        window.scrollBy(0, bar.getBoundingClientRect().top - before); // other examples above change their height
      });
      return { name, button, block };
    });
    blocks[0].before(bar);
    groups.push(members);
  }

  function choose(wanted) {
    for (const members of groups) {
      const shown = members.find(({ name }) => name === wanted) ?? members[0];
      for (const each of members) {
        each.block.hidden = each !== shown;
        each.button.setAttribute("aria-pressed", String(each === shown));
      }
    }
    try {
      localStorage.setItem(KEY, wanted);
    } catch {} // without storage the first language shows
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const block of document.querySelectorAll("div.highlight-sh")) {
      const blocks = [block];
      while (blocks.at(-1).nextElementSibling && languageOf(blocks.at(-1).nextElementSibling)) {
        if (languageOf(blocks.at(-1).nextElementSibling) === "sh") break;
        blocks.push(blocks.at(-1).nextElementSibling);
      }
      if (blocks.length > 1) group(blocks);
    }
    let kept = null;
    try {
      kept = localStorage.getItem(KEY);
    } catch {}
    if (groups.length) choose(kept ?? "sh");
  });
})();
