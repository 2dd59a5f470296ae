// Formulas: every element that pymdownx.arithmatex marks, \( ... \) or \[ ... \], is typeset by the bundled KaTeX.
// Bars in code in tables: other readers of Markdown want them escaped, this one shows the escape.
(() => {
  const finish = () => {
    for (const place of document.querySelectorAll(".arithmatex:not(.typeset)")) {
      const written = place.textContent.trim();
      place.classList.add("typeset");
      katex.render(written.slice(2, -2), place, { displayMode: written.startsWith("\\["), throwOnError: false });
    }
    for (const code of document.querySelectorAll("td code")) {
      if (code.textContent.includes("\\|")) code.textContent = code.textContent.replaceAll("\\|", "|");
    }
  };
  if (window.document$) window.document$.subscribe(finish);
  else document.addEventListener("DOMContentLoaded", finish);
})();
