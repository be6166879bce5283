// The arithmetic of attention on plain arrays, apart from all drawing. A test compares it with torch.

/** The dot product of two vectors of one length. */
export function dot(a, b) {
  return a.reduce((sum, x, i) => sum + x * b[i], 0);
}

/** exp(s / temperature) for each score s, divided by their sum. The largest score is taken off first, so that
 * neither large scores nor a temperature near 0 overflow. */
export function softmax(scores, temperature = 1) {
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp((score - largest) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** The sum of weights[i] * vectors[i]. */
export function weightedMean(weights, vectors) {
  return vectors[0].map((_, d) => dot(weights, vectors.map((vector) => vector[d])));
}

/** What one query finds: its scores q·k, the scores / √d_k, these / temperature, the weights, and the output. */
export function attend(query, keys, values, temperature) {
  const scores = keys.map((key) => dot(query, key));
  const scaled = scores.map((score) => score / Math.sqrt(query.length));
  const tempered = scaled.map((score) => score / temperature);
  const weights = softmax(scaled, temperature);
  return { scores, scaled, tempered, weights, output: weightedMean(weights, values) };
}

/** The corners of the convex hull of some points in the plane, counter-clockwise (Andrew's monotone chain). */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return [...chain(sorted), ...chain(sorted.reverse())];
}

/** One side of the hull: the points at which a walk through `sorted` has to turn left, without the last one. */
function chain(sorted) {
  const corners = [];
  for (const point of sorted) {
    while (corners.length > 1 && !turnsLeft(corners.at(-2), corners.at(-1), point)) corners.pop();
    corners.push(point);
  }
  return corners.slice(0, -1);
}

function turnsLeft([ax, ay], [bx, by], [cx, cy]) {
  return (bx - ax) * (cy - ay) > (by - ay) * (cx - ax);
}
