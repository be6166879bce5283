// The search page shows the results of Sphinx' search in its own way: each names, quotes and leads to what was found.

const pages = new Map();

/** The text of a page as elements: without buttons, scripts and contents, and each formula once, as one would type it. */
function read(address) {
  if (!pages.has(address)) {
    pages.set(address, fetch(address).then((answer) => answer.text()).then((html) => {
      const article = new DOMParser().parseFromString(html, "text/html").querySelector("article");
      for (const aside of article.querySelectorAll(".headerlink, script, style")) aside.remove();
      for (const formula of article.querySelectorAll(".katex")) {
        formula.replaceWith(typed(formula.querySelector("semantics").firstElementChild));
      }
      for (const name of article.querySelectorAll("dt")) name.append(" ");
      return article;
    }));
  }
  return pages.get(address);
}

/** A formula in MathML as a line of text: softmax(QK^⊤/√d_k). */
function typed(formula) {
  const parts = [...formula.children].map(typed);
  const grouped = parts.map((part) => (/^[\p{Letter}\p{Number}_^√⊤]*$/u.test(part) ? part : `(${part})`));
  const [base, first, second] = grouped;
  switch (formula.localName) {
    case "mfrac": return `${base}/${first}`;
    case "msqrt": return `√${grouped.length > 1 ? `(${parts.join("")})` : base}`;
    case "msub": case "munder": return `${parts[0]}_${first}`;
    case "msup": case "mover": return `${parts[0]}^${first}`;
    case "msubsup": case "munderover": return `${parts[0]}_${first}^${second}`;
    case "mtr": return `${parts.join(", ")}; `;
    case "mo": return formula.textContent.replace(/^[=≈≤≥<>∈→∼]$/, " $& ");
    default: return parts.length ? parts.join("") : formula.textContent.replace(/\s*[\u2061-\u2064]/g, "");
  }
}

/** A term of the glossary with its other names, and what it means. */
function explained(term) {
  const names = [term];
  while (names[0].previousElementSibling?.matches("dt")) names.unshift(names[0].previousElementSibling);
  while (names.at(-1).nextElementSibling?.matches("dt")) names.push(names.at(-1).nextElementSibling);
  const meaning = names.at(-1).nextElementSibling.textContent;
  return `${names.map((name) => name.textContent.trim()).join(" ")}: ${meaning.trim()}`;
}

/** Where a text has the query or else its longest word: at the start of a word if it can be. */
function find(text, query, words) {
  const wanted = [query, ...[...words].sort((a, b) => b.length - a.length)].map(_escapeRegExp);
  for (const before of ["(?<![a-z0-9])", ""]) {
    for (const word of wanted) {
      const place = text.search(new RegExp(before + word, "i"));
      if (place >= 0) return place;
    }
  }
  return 0;
}

/** Some 240 characters of a text around a place, cut between words. */
function excerpt(text, place) {
  const start = Math.max(0, place - 120);
  const before = text.slice(start, place);
  const after = text.slice(place, start + 240);
  return (start > 0 ? `… ${before.replace(/^\S*\s/, "")}` : before)
    + (start + 240 < text.length ? `${after.replace(/\s\S*$/, "")} …` : after);
}

/** The address, within its page, of the section that has this place of the page's text; none for the page's start. */
function sectionAt(article, place) {
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  let end = 0;
  while (end <= place && texts.nextNode()) end += texts.currentNode.length;
  const section = texts.currentNode.parentElement.closest("section section");
  return section ? `#${section.id}` : "";
}

async function show([page, title, anchor], query, words, marked) {
  const item = Search.output.appendChild(document.createElement("li"));
  const link = item.appendChild(document.createElement("a"));
  const quote = document.createElement("p");
  const address = page + DOCUMENTATION_OPTIONS.LINK_SUFFIX;
  link.href = address + anchor;
  link.innerHTML = title;
  quote.className = "context";
  const article = await read(address);
  const part = (anchor && article.querySelector(`[id="${anchor.slice(1)}"]`)) || article;
  const text = part.matches("dt") ? explained(part) : part.textContent;
  const place = find(text, query, words);
  if (part.matches("dt")) link.textContent = `${title}: ${part.textContent.trim()}`;
  if (part === article) link.href = address + sectionAt(article, place);
  quote.textContent = excerpt(text, place).trim();
  item.append(quote);
  for (const word of marked) _highlightText(item, word, "highlighted");
}

Search.query = (query) => {
  const parsed = Search._parseQuery(query);
  const [, words, , marked] = parsed;
  const found = Search._performSearch(...parsed).reverse();
  const terms = new Set(found.filter(([, , anchor]) => anchor.startsWith("#term-")).map(([page]) => page));
  const results = found.filter(([page, , anchor]) => anchor || !terms.has(page)); // no glossary beside its terms
  for (const result of results) show(result, query.trim(), words, marked);
  Search.stopPulse();
  Search.title.textContent = "Search Results";
  if (results.length) Search.status.textContent = results.length === 1 ? "1 result" : `${results.length} results`;
  else {
    Search.status.innerHTML = "No page has all of these words. Try fewer, or look into the "
      + '<a href="glossary.html">glossary</a>, which lists the terms in English and Chinese.';
  }
};

const field = document.querySelector(".bd-search-container input[name=q]"); // the first one is that of Ctrl+K
field.focus();
field.select();
