// Numbers as a reader sees them, with a true minus sign.

/** Two decimals, and less where the number would grow too long for a column: −0.50, 212, 1e8. */
export function fixed(x) {
  const size = Math.abs(x);
  const text = size < 100 ? x.toFixed(2) : size < 10_000 ? x.toFixed(0) : x.toExponential(0).replace("+", "");
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/** As few decimals as the number needs, two at most: 1.5, −2. */
export function short(x) {
  return String(Math.round(x * 100) / 100 || 0).replace("-", "−");
}

/** A vector: (1.5, −2). */
export function vector(components) {
  return `(${components.map(short).join(", ")})`;
}

/** Three significant digits, however small or large the number: 0.01, 1.00, 31.6. */
export function significant(x) {
  return x.toPrecision(3);
}
