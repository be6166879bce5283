// Numbers as a reader sees them, with a true minus sign.

/** Two decimals, or powers of ten where these would be too long: −0.50, 212.13, 1.4e+8. */
export function fixed(x) {
  const text = Math.abs(x) < 10_000 ? x.toFixed(2) : x.toExponential(1);
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
