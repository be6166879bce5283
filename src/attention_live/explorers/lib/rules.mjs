// The rules of the Python traits, for a state that comes from outside: from the address of the page.
// A rule is a function of a value that says in words what is wrong with it, and "" where nothing is.

/** A number from lowest to highest. */
export function within(lowest, highest) {
  return (x) => (x >= lowest && x <= highest ? "" : `must be from ${lowest} to ${highest}`);
}

/** A whole number from lowest to highest. */
export function wholeWithin(lowest, highest) {
  return (x) => (Number.isInteger(x) ? within(lowest, highest)(x) : "must be a whole number");
}

/** One of some values. */
export function oneOf(values) {
  return (x) => (values.includes(x) ? "" : `must be one of ${values.join(", ")}`);
}

/** What is wrong with the first value of `state` that breaks its rule, by the value's name: "query must be …". */
export function complaintOf(state, rules) {
  for (const [name, rule] of Object.entries(rules)) {
    const wrong = rule(state[name]);
    if (wrong !== "") return `${name} ${wrong}`;
  }
  return "";
}
