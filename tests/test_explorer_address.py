"""An explorer's state in an address: written, read back, and refused where it is not what Python would take."""

import copy

import pytest
from explorer_helpers import javascript
from traitlets import TraitError

from attention_live import explorers
from attention_live.explorers import AttentionExplorer, HeadsExplorer, MasksExplorer, ScalingExplorer

MODULE = "lib/address.mjs"
MARKUP = "<img src=x onerror=alert(1)>"


def changed(state, path, value):
    """A copy of a state with another value at a path such as "q.2.0"."""
    state = copy.deepcopy(state)
    *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    part = state
    for key in keys:
        part = part[key]
    part[last] = value
    return state


STATES = [
    (AttentionExplorer, {}, "attention"),
    (AttentionExplorer, {"query": 3, "temperature": 0.1}, "attention?query=3&temperature=0.1"),
    (AttentionExplorer, {"temperature": 1 / 3}, "attention?temperature=0.3333"),
    (AttentionExplorer, {"temperature": 1e-7, "q.2.0": -1.5}, "attention?q.2.0=-1.5&temperature=1e-7"),
    (AttentionExplorer, {"tokens.0": "a b", "tokens.3": "爱&="}, "attention?tokens.0=a+b&tokens.3=%E7%88%B1%26%3D"),
    (AttentionExplorer, {"tokens.1": MARKUP}, "attention?tokens.1=%3Cimg+src%3Dx+onerror%3Dalert%281%29%3E"),
    (MasksExplorer, {"causal": True, "lengths.1": 3}, "masks?causal=true&lengths.1=3"),
    (ScalingExplorer, {"divide_by": "√d_k"}, "scaling?divide_by=%E2%88%9Ad_k"),
    (HeadsExplorer, {"token": 1, "layer": 0}, "heads?token=1"),
]


@pytest.mark.parametrize(("explorer", "changes", "fragment"), STATES, ids=[fragment for *_, fragment in STATES])
def test_what_differs_from_the_stored_state_is_written_and_read_back(explorer, changes, fragment):
    stored = explorer().state()
    state = stored
    for path, value in changes.items():
        state = changed(state, path, value)
    assert javascript(MODULE, "fragmentOf", [explorer.module, stored, state]) == [fragment]
    name, _, query = fragment.partition("?")
    assert javascript(MODULE, "parsed", [fragment]) == [{"name": name, "changes": query}]
    [found] = javascript(MODULE, "stateWith", [query, stored])
    assert found["complaint"] == ""
    assert found["state"] == explorer(**state).state()  # Python rounds as the address does


REFUSED = [
    ("frob=1", "there is no “frob”"),
    ("query", "query must be a number, got “”"),
    ("query=two", "query must be a number, got “two”"),
    ("query=NaN", "query must be a number, got “NaN”"),
    ("query=Infinity", "query must be a number, got “Infinity”"),
    ("query=1e999", "query must be a number, got “1e999”"),
    ("query=0x1", "query must be a number, got “0x1”"),
    ("query=+1", "query must be a number, got “ 1”"),
    ("query=true", "query must be a number, got “true”"),
    ("query=%5B1%5D", "query must be a number, got “[1]”"),
    ("q=1", "there is no “q”"),
    ("q.2=1", "there is no “q.2”"),
    ("q.4.0=1", "there is no “q.4.0”"),
    ("q.-1.0=1", "there is no “q.-1.0”"),
    ("q.00.0=1", "there is no “q.00.0”"),
    ("tokens=a,b", "there is no “tokens”"),
    ("tokens.length=1000000000", "there is no “tokens.length”"),
    ("tokens.4=more", "there is no “tokens.4”"),
    ("tokens.0.0=x", "there is no “tokens.0.0”"),
    ("tokens.0=" + "x" * 41, "tokens.0 must be a word of at most 40 characters, got “" + "x" * 40 + "…”"),
    ("__proto__=1", "there is no “__proto__”"),
    ("__proto__.polluted=1", "there is no “__proto__.polluted”"),
    ("constructor.prototype.polluted=1", "there is no “constructor.prototype.polluted”"),
    ("toString=1", "there is no “toString”"),
    ("=1", "there is no “”"),
    ("x" * 100_000 + "=1", "there is no “" + "x" * 40 + "…”"),
    (f"{MARKUP}=1", "there is no “<img src”"),
]


@pytest.mark.parametrize(("query", "complaint"), REFUSED, ids=[query[:40] for query, _ in REFUSED])
def test_what_is_no_state_is_refused_with_a_reason(query, complaint):
    stored = AttentionExplorer().state()
    assert javascript(MODULE, "stateWith", [query, stored]) == [{"state": stored, "complaint": complaint}]
    assert javascript(MODULE, "stateWith", [f"temperature=2&{query}", stored])[0]["state"] == stored


@pytest.mark.parametrize("text", ["", "TRUE", "1", "constructor", "__proto__"])
def test_a_truth_value_is_true_or_false(text):
    [found] = javascript(MODULE, "stateWith", [f"causal={text}", MasksExplorer().state()])
    assert found["complaint"] == f"causal must be true or false, got “{text}”"


def test_a_prototype_is_not_polluted():
    stored = MasksExplorer().state()
    calls = [("__proto__.polluted=1", stored), ("lengths.__proto__.polluted=1", stored), ("causal=false", stored)]
    assert "polluted" not in str(javascript(MODULE, "stateWith", *calls)[2])


LIMITS = {
    "attention": {
        "query": [-1, 0, 0.5, 3, 4],
        "temperature": [-1.0, 0.0, 1e-9, 1e9],
        "q.0.0": [-101.0, -100.0, 100.0, 100.5],
        "k.1.1": [-101.0, 100.0],
        "v.3.1": [-100.0, 101.0],
        "tokens.0": ["", MARKUP],
    },
    "gradient_reach": {
        "weight": [-0.01, 0.0, 2.0, 2.01],
        "activation": [-0.01, 0.0, 0.95, 0.96],
        "distance": [0, 1, 1.5, 60, 61],
    },
    "heads": {
        "layer": [-1, 0, 1],
        "token": [-1, 0, 0.5, 1, 2],
        "weights.0.0.0.0": [-0.1, 0.5, 0.995, 1.1],
        "tokens.0": [""],
    },
    "masks": {
        "lengths.0": [-1, 0, 0.5, 6, 7],
        "lengths.1": [-1, 6, 7],
        "causal": [True],
        "window": [0, 1, 2.5, 6, 7],
        "convention": ["attend", "hide", "", "Hide"],
    },
    "positions": {
        "d_model": [2, 4, 5, 64, 128],
        "base": [1, 10, 11, 10_000, 100_000],
        "position": [-1, 0, 0.5, 40, 41],
        "offset": [-1, 0, 0.5, 23, 24],
    },
    "scaling": {
        "d_k": [0, 1, 3, 1024, 2048],
        "divide_by": ["nothing", "√d_k", "d_k", "", "all"],
        "std": [0.24, 0.25, 4.0, 4.01],
        "query": [-1, 0, 0.5, 99, 100],
    },
}
EXPLORERS = {
    getattr(explorers, name).module: getattr(explorers, name) for name in explorers.__all__ if name != "Explorer"
}


def takes(explorer, traits):
    try:
        explorer(**traits)
    except TraitError:
        return False
    return True


@pytest.mark.parametrize("name", sorted(EXPLORERS))
def test_the_rules_are_those_of_the_traits(name):
    """At its limits, every trait takes what the front-end takes, and both refuse the rest."""
    explorer = EXPLORERS[name]
    stored = explorer().state()
    assert {path.split(".")[0] for path in LIMITS[name]} == set(stored)
    states = [changed(stored, path, value) for path, values in LIMITS[name].items() for value in values]
    complaints = javascript(f"{name}.mjs", "complaint", [stored], *[[state] for state in states])
    assert complaints.pop(0) == ""
    for state, complaint in zip(states, complaints, strict=True):
        new = {trait: value for trait, value in state.items() if value != stored[trait]}
        assert (complaint == "") == takes(explorer, new), (new, complaint)
        assert complaint == "" or complaint.split()[0] in new
