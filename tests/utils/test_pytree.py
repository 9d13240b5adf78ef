"""Trees of containers: what is a node, what is a leaf, and how prefixes stand for whole branches; PyTorch's rules."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

import dualtape as dt
from dualtape import pytree
from dualtape.pytree import (
    broadcast_prefix,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)
from dualtape.utils import _pytree

Point = namedtuple("Point", "x y")


class Listed(list):
    pass


TREES: list[tuple[Any, list]] = [
    (1, [1]),
    (None, [None]),
    ((), []),
    ({"b": 1, "a": (2, None)}, [1, 2, None]),
    (OrderedDict(b=1, a=[2]), [1, 2]),
    (defaultdict(int, b=1, a=2), [1, 2]),
    (Point(1, [2, 3]), [1, 2, 3]),
    (deque([1, (2,)], maxlen=3), [1, 2]),
    (Listed([1]), [Listed([1])]),
]


@pytest.mark.parametrize(("tree", "leaves"), TREES, ids=[repr(t) for t, _ in TREES])
def test_a_tree_comes_apart_as_in_pytorch_and_together_again(tree: Any, leaves: list) -> None:
    found, spec = tree_flatten(tree)
    assert found == leaves and spec.num_leaves == len(leaves)
    again = tree_unflatten(found, spec)
    assert again == tree and type(again) is type(tree)
    assert getattr(again, "maxlen", 0) == getattr(tree, "maxlen", 0)
    torch = pytest.importorskip("torch")
    assert torch.utils._pytree.tree_leaves(tree) == leaves


def test_is_leaf_ends_the_descent() -> None:
    assert tree_leaves([(1, 2), [3]], is_leaf=lambda t: isinstance(t, tuple)) == [(1, 2), 3]


def test_specs_are_equal_if_the_trees_have_one_shape() -> None:
    assert tree_structure((1, [2])) == tree_structure((3, [4]))
    assert tree_structure((1, [2])) != tree_structure((1, (2,)))
    assert tree_structure({"a": 1}) != tree_structure({"b": 1})
    assert tree_structure(0).is_leaf() and hash(tree_structure([0])) == hash(tree_structure([1]))
    assert repr(tree_structure(Point(1, (2,)))) == f"TreeSpec(namedtuple, {Point!r}, [*, TreeSpec(tuple, None, [*])])"


def test_too_many_leaves_are_refused() -> None:
    with pytest.raises(ValueError, match="`leaves` has length 3"):
        tree_unflatten([1, 2, 3], tree_structure((1, 2)))


def test_map_walks_further_trees_beside_the_first() -> None:
    assert tree_map(lambda a, b: (a, b), (1, 2), (1, [2, 3])) == ((1, 1), (2, [2, 3]))
    assert tree_map(lambda a, b: a - b, {"a": 5, "b": 7}, {"b": 1, "a": 2}) == {"a": 3, "b": 6}
    for wrong, phrase in (((1, 2, 3), "arity"), ([1, 2], "type")):
        with pytest.raises(ValueError, match=phrase):
            tree_map(lambda a, b: a, (1, 2), wrong)
    with pytest.raises(ValueError, match="keys"):
        tree_map(lambda a, b: a, {"a": 1}, {"b": 1})
    assert tree_map_only(str, len, ["ab", 3]) == [2, 3]


def test_a_prefix_stands_for_whole_branches() -> None:
    spec = tree_structure((1, {"a": 2, "b": [3, 4]}))
    assert broadcast_prefix(0, spec) == [0] * 4
    assert broadcast_prefix((0, None), spec) == [0, None, None, None]
    assert broadcast_prefix((0, {"b": (1), "a": 2}), spec) == [0, 2, 1, 1]
    for wrong in ((0,), (0, {"a": 1}), ((0, 1), 2), [0, 1]):
        assert broadcast_prefix(wrong, spec) is None


def test_a_registered_class_is_a_node_once() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    assert len(tree_leaves(Pair(1, 2))) == 1
    register_pytree_node(Pair, lambda p: ([p.a], p.b), lambda items, b: Pair(*items, b))
    assert tree_leaves([Pair(1, 2)]) == [1]
    result = tree_map(lambda n: n + 1, Pair(1, "kept"))
    assert (result.a, result.b) == (2, "kept")
    with pytest.raises(ValueError, match="already registered"):
        register_pytree_node(Pair, lambda p: ([], None), lambda items, _: Pair(0, 0))


def test_the_names_stand_where_pytorch_has_them() -> None:
    assert _pytree.tree_map is tree_map and _pytree.tree_flatten is tree_flatten


@dataclasses.dataclass
class _Fit:
    weight: Any
    bias: Any
    name: str = "none"


class _Keywords:
    def __init__(self, a: Any) -> None:
        self.a = a


def test_a_registered_dataclass_is_a_tree_of_its_fields() -> None:
    pytree.register_dataclass(_Fit, drop_field_names=["name"])
    assert pytree.tree_flatten(_Fit(1.0, [2.0], "x"))[0] == [1.0, 2.0]
    slope = dt.func.grad(lambda p: (p.weight * p.bias).sum())(_Fit(dt.ones(2), 3 * dt.ones(2)))
    assert slope.weight.tolist() == [3.0, 3.0] and slope.bias.tolist() == [1.0, 1.0] and slope.name == "none"
    pytree.register_dataclass(_Keywords, field_names=["a"])
    assert pytree.tree_map(lambda x: x + 1, _Keywords(1)).a == 2


@pytest.mark.parametrize(
    ("cls", "names", "words"),
    [(_Fit, ["weight"], "each field"), (_Fit, ["weight", "x"], "each field"), (int, None, "not a")],
)
def test_a_dataclass_registered_wrongly_is_refused(cls: type, names: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pytree.register_dataclass(cls, field_names=names)


def test_pytorchs_registry_of_nodes_is_read_under_its_names() -> None:
    from collections import namedtuple

    from dualtape.utils import _pytree

    Pair = namedtuple("Pair", "a b")
    assert _pytree._get_node_type(Pair(1, 2)) is namedtuple and _pytree._get_node_type(3) not in _pytree.SUPPORTED_NODES
    for tree in ([1, 2], (1,), {"a": 1}, Pair(1, 2)):
        node = _pytree.SUPPORTED_NODES[_pytree._get_node_type(tree)]
        assert node.unflatten_fn(*node.flatten_fn(tree)) == tree
    assert _pytree.LeafSpec() == _pytree.tree_structure(3)
    assert _pytree._broadcast_to_and_flatten(0, _pytree.tree_structure([1, (2, 3)])) == [0, 0, 0]
