// An explorer's state in the address of the page, behind the "#": attention?query=3&temperature=0.1&tokens.0=cat
// Only what differs from the stored state is there, named as in Python: q.2.0 is q[2][0]. So an address can put another
// number, word or truth value in the place of one, and nothing else.

const LONGEST = 40; // characters of a word
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

/** The part of the address that names an explorer and what of its state differs from the stored one. */
export function fragmentOf(name, stored, state) {
  const before = new Map(leaves(stored));
  const changes = leaves(state)
    .map(([path, value]) => [path, rounded(value)])
    .filter(([path, value]) => value !== before.get(path));
  return changes.length > 0 ? `${name}?${new URLSearchParams(changes)}` : name;
}

/** The name of the explorer in a part of an address, and the changes that follow it. */
export function parsed(fragment) {
  const [name, ...changes] = fragment.split("?");
  return { name, changes: changes.join("?") };
}

/** The stored state with the changes of an address: `{ state, complaint }`. The complaint says in words what cannot
 * be, and is "" where all can. Whether the values keep the explorer's own rules is not looked at. */
export function stateWith(changes, stored) {
  const state = structuredClone(stored);
  const known = new Map(leaves(stored));
  for (const [path, text] of new URLSearchParams(changes)) {
    if (!known.has(path)) return { state: stored, complaint: `there is no ${shortened(path)}` };
    const { value, wanted } = read(text, typeof known.get(path));
    if (value === undefined) return { state: stored, complaint: `${path} must be ${wanted}, got ${shortened(text)}` };
    const keys = path.split(".");
    const last = keys.pop();
    keys.reduce((part, key) => part[key], state)[last] = value;
  }
  return { state, complaint: "" };
}

/** The numbers, words and truth values of a state, each with its path. */
function leaves(part, path = []) {
  if (typeof part !== "object") return [[path.join("."), part]];
  return Object.keys(part).flatMap((key) => leaves(part[key], [...path, key]));
}

/** As in `Explorer.state()`: 4 significant digits. */
function rounded(value) {
  return typeof value !== "number" || Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

/** What a text must be to stand for a value of some type, and the value, undefined where it stands for none. */
function read(text, type) {
  if (type === "number") {
    const value = NUMBER.test(text) ? Number(text) : NaN;
    return { value: Number.isFinite(value) ? value : undefined, wanted: "a number" };
  }
  if (type === "boolean") return { value: [false, true][["false", "true"].indexOf(text)], wanted: "true or false" };
  return { value: text.length <= LONGEST ? text : undefined, wanted: `a word of at most ${LONGEST} characters` };
}

function shortened(text) {
  return `“${text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}”`;
}
