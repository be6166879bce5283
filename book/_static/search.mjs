// What Sphinx' search leaves undone on the search page.

// A result quotes its page's text: without buttons and contents, and with a formula once, as it is written in TeX.
// A term of the glossary is quoted with its explanation.
Search.htmlToText = (html, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html").querySelector("article");
  const asides = ".headerlink, script, style, .katex-html, .katex semantics > :first-child";
  for (const aside of page.querySelectorAll(asides)) aside.remove();
  for (const name of page.querySelectorAll("dt")) name.append(" ");
  const place = anchor && page.querySelector(`[id="${anchor.slice(1)}"]`);
  if (!place) return page.textContent;
  if (!place.matches("dt")) return place.textContent;
  const names = [place];
  while (names[0].previousElementSibling?.matches("dt")) names.unshift(names[0].previousElementSibling);
  while (names.at(-1).nextElementSibling?.matches("dt")) names.push(names.at(-1).nextElementSibling);
  return `${names.map((name) => name.textContent).join("").trim()}: ${names.at(-1).nextElementSibling.textContent}`;
};

Documentation.TRANSLATIONS[
  "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories."
] = "No page has all of these words. Try fewer, or look into the glossary, which lists the terms in English and Chinese.";
