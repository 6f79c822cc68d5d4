// A strip of tabs fades at an end with more tabs beyond it, and keeps the current tab in view.
for (const strip of document.querySelectorAll("[data-tab-strip]")) {
  const fade = () => {
    const before = Math.abs(strip.scrollLeft); // negative if the text runs from right to left
    const after = strip.scrollWidth - strip.clientWidth - before;
    strip.classList.toggle("has-before", before > 1);
    strip.classList.toggle("has-after", after > 1);
  };
  const current = strip.querySelector("[aria-current]");
  if (current) strip.scrollLeft += middleOf(current) - middleOf(strip); // only the strip: the page does not scroll
  strip.addEventListener("scroll", fade, { passive: true });
  new ResizeObserver(fade).observe(strip);
}

function middleOf(element) {
  const { left, right } = element.getBoundingClientRect();
  return (left + right) / 2;
}
