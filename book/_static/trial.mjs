// The filter of the claims on trial. Nothing checked in a group means that all of it is shown. What is checked stands
// in the address, so that a filtered list can be linked: trial.html?verdict=fails&note=A

const form = document.querySelector(".trial-filter");
const rows = [...document.querySelectorAll(".trial-row")];
const start = new URLSearchParams(location.search);

function show() {
  const chosen = new URLSearchParams(new FormData(form));
  const groups = ["verdict", "note"].map((name) => chosen.getAll(name).map((value) => `${name}-${value}`));
  for (const row of rows) {
    row.hidden = !groups.every((group) => group.length === 0 || group.some((name) => row.classList.contains(name)));
  }
  for (const chapter of document.querySelectorAll(".trial-chapter")) {
    chapter.hidden = chapter.querySelector(".trial-row:not([hidden])") === null;
  }
  const shown = rows.filter((row) => !row.hidden).length;
  form.querySelector("[role=status]").textContent = `${shown} of ${rows.length} statements`;
  const query = chosen.toString();
  history.replaceState(null, "", `${location.pathname}${query && `?${query}`}${location.hash}`);
}

for (const box of form.querySelectorAll("input")) box.checked = start.getAll(box.name).includes(box.value);
form.addEventListener("change", show);
form.addEventListener("reset", () => setTimeout(show)); // after the boxes are reset
form.hidden = false;
show();
