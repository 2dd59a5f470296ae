// Formulas: every element that pymdownx.arithmatex marks, \( ... \) or \[ ... \], is typeset by the bundled KaTeX.
(() => {
  const typeset = () => {
    for (const place of document.querySelectorAll(".arithmatex:not(.typeset)")) {
      const written = place.textContent.trim();
      place.classList.add("typeset");
      katex.render(written.slice(2, -2), place, { displayMode: written.startsWith("\\["), throwOnError: false });
    }
  };
  if (window.document$) window.document$.subscribe(typeset);
  else document.addEventListener("DOMContentLoaded", typeset);
})();
