"""The scaling explorer: what d_k and the division by √d_k do to scores, weights and gradients."""

import traitlets

from .base import Explorer

WIDTHS = [2**power for power in range(11)]  # here as in scaling.mjs, like the two that follow
DIVISORS = ["nothing", "√d_k", "d_k"]
QUERIES = 100
SPREAD = (0.25, 4.0)  # as far as the slider goes


class ScalingExplorer(Explorer):
    """The scores of random queries and keys, the weights that softmax makes of them, and the gradient it lets through.

    There are 100 queries with 8 keys each, of independent normal components. The random numbers are always the same.

    Args:
        d_k: how many components a query and a key have, a power of two from 1 to 1024.
        divide_by: what the scores q·k are divided by, "nothing", "√d_k" or "d_k".
        std: the standard deviation of all components, from 0.25 to 4.
        query: the query whose weights are shown, 0 ≤ query < 100.

    Each argument is a trait that can be read and set later.

    Raises:
        TraitError: when a value breaks one of these rules. The explorer then stays as it was.
    """

    module = "scaling"
    title = "The scaling explorer"

    d_k = traitlets.Int(64).tag(sync=True)
    divide_by = traitlets.Unicode("nothing").tag(sync=True)
    std = traitlets.Float(1.0).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)

    @traitlets.validate("d_k")
    def _d_k_is_a_power_of_two(self, proposal):
        return _checked(proposal["value"] in WIDTHS, proposal, "a power of two from 1 to 1024")

    @traitlets.validate("divide_by")
    def _divisor_is_known(self, proposal):
        return _checked(proposal["value"] in DIVISORS, proposal, f"one of {', '.join(map(repr, DIVISORS))}")

    @traitlets.validate("std")
    def _std_is_on_the_slider(self, proposal):
        lowest, highest = SPREAD
        return _checked(lowest <= proposal["value"] <= highest, proposal, f"from {lowest} to {highest}")

    @traitlets.validate("query")
    def _query_exists(self, proposal):
        return _checked(0 <= proposal["value"] < QUERIES, proposal, f"from 0 to {QUERIES - 1}")


def _checked(is_right, proposal, rule):
    if not is_right:
        raise traitlets.TraitError(f"{proposal['trait'].name} must be {rule}, got {proposal['value']!r}")
    return proposal["value"]
