// Brings every explorer on the page to life, with no kernel behind it. The page holds, for each,
//   <div class="explorer" data-explorer="attention" data-state='{"query": 2, …}'>a sentence instead</div>
// and attention.mjs lies beside this file. An explorer that fails keeps its sentence, and the others go on.
// Each place's property `explorer` is a promise of what gallery.mjs needs of it, and of nothing where it failed.

for (const place of document.querySelectorAll("[data-explorer]")) place.explorer = mount(place);

async function mount(place) {
  const { explorer, state } = place.dataset;
  try {
    const { default: module, complaint } = await import(new URL(`${explorer}.mjs`, import.meta.url));
    const el = document.createElement("div");
    const model = createModel(JSON.parse(state));
    await module.render({ model, el });
    place.replaceChildren(el);
    return { model, complaint };
  } catch (error) {
    console.error(`The explorer "${explorer}" could not start.`, error);
  }
}

/** As much of a widget's model as an explorer uses. Here nobody listens behind it, so nothing has to be sent. */
function createModel(state) {
  const events = new EventTarget();
  return {
    get: (name) => state[name],
    set(name, value) {
      if (Object.is(state[name], value)) return;
      state[name] = value;
      events.dispatchEvent(new Event(`change:${name}`));
    },
    on: (event, callback) => events.addEventListener(event, callback),
    off: (event, callback) => events.removeEventListener(event, callback),
    save_changes() {},
  };
}
