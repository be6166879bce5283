"""The gradient-reach explorer: what a chain of recurrent steps leaves of a gradient, beside one attention layer."""

import traitlets

from .base import Explorer

# The largest values of the traits, here as in gradient_reach.mjs.
WEIGHT = 2
ACTIVATION = 0.95
DISTANCE = 60


class GradientReachExplorer(Explorer):
    """What is left of the last state's gradient at an input some steps before it, in a recurrent network of width 1.

    With the states h = tanh(w · h before + input), each step back multiplies the gradient by w · (1 − h²), here with
    one and the same |h| at every step. An attention layer whose weights are all alike hands each of its n tokens 1/n.

    Args:
        weight: the recurrent weight w, from 0 to 2.
        activation: the size |h| of the states, from 0 (where tanh is a straight line) to 0.95 (where it is flat).
        distance: steps from the input to the last state, from 1 to 60.

    Each argument is a trait that can be read and set later.

    Raises:
        TraitError: when a value breaks one of these rules. The explorer then stays as it was.
    """

    module = "gradient_reach"
    title = "The gradient-reach explorer"

    weight = traitlets.Float(0.9).tag(sync=True)
    activation = traitlets.Float(0.0).tag(sync=True)
    distance = traitlets.Int(20).tag(sync=True)

    @traitlets.validate("weight", "activation", "distance")
    def _in_range(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        lowest, highest = {"weight": (0, WEIGHT), "activation": (0, ACTIVATION), "distance": (1, DISTANCE)}[name]
        if not lowest <= value <= highest:
            raise traitlets.TraitError(f"{name} must be from {lowest} to {highest}, got {value}")
        return value
