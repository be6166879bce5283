"""The warm-up exercise of chapter 00, Start here."""

import torch

from .engine import Case, Chapter, Mistake

chapter = Chapter()
progress = chapter.progress
__dir__ = chapter.names


def _shrink(numbers):
    numbers /= numbers.sum()
    return numbers


shares = chapter.exercise(
    "0.1",
    "shares",
    reference=lambda numbers: numbers / numbers.sum(),
    cases=[
        Case({"numbers": torch.tensor([1.0, 3.0])}),
        Case({"numbers": torch.tensor([2.0, 0.0, 5.0, 1.0, 3.0])}),
    ],
    mistakes=[
        Mistake(
            "divided by the largest",
            lambda numbers: numbers / numbers.max(),
            "the largest share came out as 1, so that together they are more than 1. Divide by the sum of all.",
        ),
        Mistake(
            "divided by how many there are",
            lambda numbers: numbers / len(numbers),
            "that makes the numbers smaller, but they add up to their mean, not to 1. Divide by their sum.",
        ),
        Mistake(
            "softmax",
            lambda numbers: numbers.softmax(dim=0),
            "that is chapter 2's way to make shares, by way of the exponential. Here each number keeps its proportion.",
        ),
        Mistake(
            "the sum alone",
            lambda numbers: numbers.sum(),
            "this is the total that each number has to be divided by; the shares are as many as the numbers.",
        ),
        Mistake(
            "the input was changed",
            _shrink,
            "the shares are right, but `/=` wrote them over the caller's numbers. Make a new tensor: "
            "`numbers / …` instead of `numbers /= …`.",
        ),
    ],
    verified="the shares are right for 2 and for 5 numbers, and they add up to 1",
)
