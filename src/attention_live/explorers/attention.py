"""The attention explorer: one query looks at a few keys and takes home a mixture of their values."""

import math

import traitlets

from .base import Explorer

LIMIT = 100  # the largest component, here as in attention.mjs


class Vectors(traitlets.TraitType):
    """A list of vectors of width 2; a tensor or an array of shape (n, 2) is turned into one."""

    def validate(self, obj, value):
        """Return `value` as nested lists of floats.

        Raises:
            TraitError: when a vector has not two components, or a component is no number from -100 to 100.
        """
        value = value.tolist() if hasattr(value, "tolist") else value
        if not isinstance(value, list | tuple):
            raise traitlets.TraitError(f"{self.name} must be a list of vectors, got {value!r}")
        return [self._vector(row, vector) for row, vector in enumerate(value)]

    def _vector(self, row, vector):
        if not isinstance(vector, list | tuple) or len(vector) != 2:
            raise traitlets.TraitError(f"every vector must have 2 components, but {self.name}[{row}] is {vector!r}")
        for x in vector:
            if isinstance(x, bool) or not isinstance(x, int | float) or not abs(x) <= LIMIT:
                raise traitlets.TraitError(
                    f"components must be numbers from {-LIMIT} to {LIMIT}, but {self.name}[{row}] is {vector!r}"
                )
        return [float(x) for x in vector]


class AttentionExplorer(Explorer):
    """Scaled dot-product attention of one query, step by step: compare, weigh, mix.

    The reader chooses the query's token, moves or types any vector, and changes the temperature: the weights are
    softmax(q·k / (√d_k · temperature)), a hard look-up as the temperature goes to 0 and a plain mean as it grows.

    Args:
        tokens: n ≥ 1 names.
        q: the tokens' queries, (n, 2), as nested lists, an array or a tensor; also k, their keys, and v, their values.
        query: the token that asks, 0 ≤ query < n.
        temperature: what the scaled scores are divided by, > 0 and finite.

    Each argument is a trait that can be read and set later. To set several that only fit together:

        with explorer.hold_trait_notifications():
            explorer.tokens, explorer.q, explorer.k, explorer.v = …

    Raises:
        TraitError: when a value breaks one of these rules. The explorer then stays as it was.
    """

    module = "attention"
    title = "The attention explorer"

    tokens = traitlets.List(traitlets.Unicode(), ["the", "group", "went", "home"], minlen=1).tag(sync=True)
    q = Vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]]).tag(sync=True)
    k = Vectors([[0.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 2.0]]).tag(sync=True)
    v = Vectors([[0.0, 0.0], [4.0, 0.0], [3.0, 3.0], [1.0, 4.0]]).tag(sync=True)
    query = traitlets.Int(2).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)

    @traitlets.validate("tokens", "q", "k", "v", "query")
    def _fits_together(self, proposal):
        names = ("tokens", "q", "k", "v", "query")
        new = {name: getattr(self, name) for name in names} | {proposal["trait"].name: proposal["value"]}
        count = len(new["tokens"])
        for name in ("q", "k", "v"):
            if len(new[name]) != count:
                raise traitlets.TraitError(f"{name} has {len(new[name])} vectors, but there are {count} tokens")
        if not 0 <= new["query"] < count:
            raise traitlets.TraitError(f"query must be from 0 to {count - 1}, got {new['query']}")
        return proposal["value"]

    @traitlets.validate("temperature")
    def _temperature_is_positive(self, proposal):
        if not 0 < proposal["value"] < math.inf:
            raise traitlets.TraitError(f"temperature must be positive and finite, got {proposal['value']}")
        return proposal["value"]
