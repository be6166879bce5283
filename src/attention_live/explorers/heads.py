"""The heads explorer: where every head of every layer looks, from each token of a sentence."""

import traitlets

from .base import Explorer

TOLERANCE = 0.01  # how far a row may be from summing to 1


class Weights(traitlets.TraitType):
    """Attention weights by layer, head, query and key; a tensor or an array is turned into lists of 3 decimals."""

    def validate(self, obj, value):
        """Return `value` as nested lists of floats.

        Raises:
            TraitError: when there are not four axes, layers differ in their heads, a matrix is not square or not of one
                size with the others, a weight is no number from 0 to 1, or a row does not sum to 1.
        """
        value = value.tolist() if hasattr(value, "tolist") else value
        axes, level = [], [value]
        for axis in ("layers", "heads", "queries", "keys"):
            if not all(isinstance(part, list | tuple) and part for part in level):
                raise traitlets.TraitError(f"{self.name} must have four axes (layers, heads, queries, keys)")
            lengths = sorted({len(part) for part in level})
            if len(lengths) > 1:
                raise traitlets.TraitError(f"{self.name} must be regular, but the number of {axis} is {lengths}")
            axes.append(lengths[0])
            level = [item for part in level for item in part]
        if axes[2] != axes[3]:
            raise traitlets.TraitError(f"{self.name} must have as many keys as queries, got {axes[3]} and {axes[2]}")
        return [[[self._row(row) for row in head] for head in layer] for layer in value]

    def _row(self, row):
        for weight in row:
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
                raise traitlets.TraitError(f"weights must be numbers from 0 to 1, got {weight!r}")
        if abs(sum(row) - 1) > TOLERANCE:
            raise traitlets.TraitError(f"weights of a query must sum to 1, got {sum(row):.3f}")
        return [round(float(weight), 3) for weight in row]


class HeadsExplorer(Explorer):
    """Self-attention of a whole sentence: all heads of a layer side by side, and where one token looks in each.

    The reader chooses a layer and a token; pointing at a token in any of the pictures shows it for the moment.

    Args:
        tokens: T ≥ 1 names.
        weights: (layers, heads, T, T), a row for each query, as nested lists, an array or a tensor. Kept with 3
            decimals.
        layer: the layer that is shown, 0 ≤ layer < layers.
        token: the token that asks, 0 ≤ token < T.

    Each argument is a trait that can be read and set later. To set several that only fit together:

        with explorer.hold_trait_notifications():
            explorer.tokens, explorer.weights = …

    Raises:
        TraitError: when a value breaks one of these rules. The explorer then stays as it was.
    """

    module = "heads"
    title = "The heads explorer"

    tokens = traitlets.List(traitlets.Unicode(), ["here", "there"], minlen=1).tag(sync=True)
    weights = Weights([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]]).tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    token = traitlets.Int(0).tag(sync=True)

    @traitlets.validate("tokens", "weights", "layer", "token")
    def _fits_together(self, proposal):
        names = ("tokens", "weights", "layer", "token")
        new = {name: getattr(self, name) for name in names} | {proposal["trait"].name: proposal["value"]}
        count, queries = len(new["tokens"]), len(new["weights"][0][0])
        if queries != count:
            raise traitlets.TraitError(f"weights are for {queries} tokens, but there are {count} tokens")
        for name, limit in (("layer", len(new["weights"])), ("token", count)):
            if not 0 <= new[name] < limit:
                raise traitlets.TraitError(f"{name} must be from 0 to {limit - 1}, got {new[name]}")
        return proposal["value"]
