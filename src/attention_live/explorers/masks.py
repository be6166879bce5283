"""The masks explorer: padding, causal and window masks of two sentences, and the weights that they leave."""

import traitlets

from .base import Explorer

POSITIONS = 6  # here as in masks.mjs
CONVENTIONS = ["attend", "hide"]


class MasksExplorer(Explorer):
    """A batch of two sentences of six positions: the mask, and the weights after a softmax that obeys it.

    The mask is built by the book's convention, True = may attend. The function that gets it may have the other one.

    Args:
        lengths: the number of real words of each sentence, 0 to 6; pads follow them.
        causal: whether the future is hidden.
        window: a query sees positions less than this many steps away, 1 to 6; 6 hides nothing.
        convention: what the function takes True for, "attend" or "hide".

    Each argument is a trait that can be read and set later.

    Raises:
        TraitError: when a value breaks one of these rules. The explorer then stays as it was.
    """

    module = "masks"
    title = "The masks explorer"

    lengths = traitlets.List(traitlets.Int(), [6, 4]).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    window = traitlets.Int(POSITIONS).tag(sync=True)
    convention = traitlets.Unicode("attend").tag(sync=True)

    @traitlets.validate("lengths")
    def _lengths_fit(self, proposal):
        lengths = proposal["value"]
        is_right = len(lengths) == 2 and all(0 <= length <= POSITIONS for length in lengths)
        return _checked(is_right, proposal, f"two numbers from 0 to {POSITIONS}")

    @traitlets.validate("window")
    def _window_is_on_the_slider(self, proposal):
        return _checked(1 <= proposal["value"] <= POSITIONS, proposal, f"from 1 to {POSITIONS}")

    @traitlets.validate("convention")
    def _convention_is_known(self, proposal):
        return _checked(proposal["value"] in CONVENTIONS, proposal, f"one of {CONVENTIONS}")


def _checked(is_right, proposal, rule):
    if not is_right:
        raise traitlets.TraitError(f"{proposal['trait'].name} must be {rule}, got {proposal['value']!r}")
    return proposal["value"]
