"""Pictures: what they say of graphs, functions, modules and compiled programs, in each of their forms."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as tree
from collections import Counter
from pathlib import Path

import pytest

import dualtape as dt
from dualtape.draw import Item, Picture


class Block(dt.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm = dt.nn.Linear(8, 8), dt.nn.LayerNorm(8)

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        return x + self.a(self.norm(x)).relu()


def network() -> dt.nn.Module:
    return dt.nn.Sequential(dt.nn.Linear(4, 8), *[Block() for _ in range(12)], dt.nn.Linear(8, 2))


def step(h: dt.Tensor, w: dt.Tensor) -> dt.Tensor:
    return (h @ w).tanh() * h


def recurrent(x: dt.Tensor, w: dt.Tensor) -> dt.Tensor:
    for _ in range(20):
        x = step(x, w)
    return x.sum()


def tangled(n: int = 300) -> Picture:
    """A graph in which nothing repeats."""
    names = [f"op{k * 7 % 5}{k % 3}" for k in range(n)]
    items = [Item(name, f"[{k}]") for k, name in enumerate(names)]
    return Picture("tangled", items, [(k // 2, k) for k in range(1, n)])


def test_a_graph_is_told_in_the_order_of_the_computation() -> None:
    x, w = dt.ones(3, requires_grad=True), dt.ones(3, requires_grad=True)
    assert str(dt.draw((x * w).tanh().sum(), names={"x": x, "w": w})).splitlines() == [
        "the graph of a tensor: 5 nodes, 12 B kept for the backward",
        "  x     [3]  leaf",
        "  w     [3]  leaf",
        "  mul   [3]  <- x, w",
        "  tanh  [3]  <- mul  keeps 12 B",
        "  sum   scalar  <- tanh",
    ]


def test_a_function_names_its_arguments_its_functions_and_its_lines() -> None:
    picture = dt.draw(recurrent, dt.ones(2, 3), dt.ones(3, 3))
    assert {item.name for item in picture.items if item.kind == "leaf"} == {"x", "w"}
    assert picture.items[2].line.startswith("tests/tools/test_draw.py:") or picture.items[2].line.startswith(
        "test_draw.py:"
    )
    assert {item.group for item in picture.items} == {("step",), ()}


def test_what_repeats_itself_is_shown_once() -> None:
    picture = dt.draw(recurrent, dt.ones(2, 3), dt.ones(3, 3))
    short = picture.without_repeats()
    assert len(picture) == 63 and len(short) == 9
    assert ("step", "mm, tanh, mul × 19") in {item.group for item in short.items}
    names = [item.name for item in short.items]
    assert (names.index("mul"), names.index("sum")) not in short.edges and (7, 8) in short.edges


def test_modules_are_groups() -> None:
    picture = dt.draw(network(), dt.ones(5, 4))
    assert Counter(item.name for item in picture.items)["relu"] == 12
    short = picture.without_repeats()
    assert [group[-1] for group in short.groups()] == ["0 (Linear)", "1 (Block) × 12", "13 (Linear)"]
    closed = short.closed()
    assert [item.kind for item in closed.items] == ["group"] * 3 and closed.edges == [(0, 1), (1, 2)]
    inside = short.closed(("1 (Block) × 12",))
    assert {item.name for item in inside.items if item.kind == "outside"} == {"0 (Linear)", "13 (Linear)"}


def test_a_module_is_left_as_it_was() -> None:
    module = network()
    dt.draw(module, dt.ones(5, 4))
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in module.modules())
    assert all(p.grad is None for p in module.parameters())


@pytest.mark.parametrize("make", [lambda: dt.draw(network(), dt.ones(5, 4)), tangled], ids=["network", "tangled"])
def test_every_form_is_well_formed_and_has_every_group(make, tmp_path: Path) -> None:
    picture = make()
    svg = tree.fromstring(picture.svg())
    boxes = [g for g in svg.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "box"]
    assert len(boxes) == len(picture.legible()) <= 60
    mermaid = picture.mermaid()
    assert mermaid.count("subgraph") == len(re.findall(r"^ *end$", mermaid, re.M)) and mermaid.startswith(
        "flowchart TD"
    )
    assert picture.dot().count("{") == picture.dot().count("}")
    for name in ("a.svg", "a.html", "a.mmd", "a.dot", "a.txt"):
        picture.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    page = picture.html()
    assert page.count("<details") == page.count("</details>") == sum(1 for _ in all_groups(picture.short()))


def all_groups(picture: Picture, path: tuple = ()):
    for group in picture.groups(path):
        yield group
        yield from all_groups(picture, group)


def test_every_node_of_a_long_graph_is_on_the_page() -> None:
    x = dt.ones(3, requires_grad=True)
    values = [x.exp() + k * x if k % 3 else x.sin().cumsum(0) for k in range(80)]
    for k in range(1, 80):
        values[k] = values[k] * values[k // 2] if k % 2 else values[k] - values[k // 3]
    picture = dt.draw(sum(value.sum() for value in values))
    assert len(picture) > 300 and len(picture.legible()) <= 60
    shown = re.findall(r"<title>(.*?)\n", picture.html())
    for name in ("cumsum", "sin", "sub"):
        assert shown.count(name) >= sum(item.name == name for item in picture.without_repeats().items) > 0


def test_closed_groups_that_need_each_other_make_no_circle() -> None:
    items = [Item(str(k), group=("a",) if k % 2 else ("b",)) for k in range(6)]
    closed = Picture("", items, [(k, k + 1) for k in range(5)]).closed()
    assert closed.edges == [(0, 1)]
    tree.fromstring(closed.svg())


def test_a_compiled_program_is_drawn_before_and_after_fusion() -> None:
    def f(x: dt.Tensor) -> dt.Tensor:
        return (x * 2 + 1).exp().sum()

    pictures = dt.compiler.draw(f)(dt.ones(20, 30, requires_grad=True))
    assert [p.title for p in pictures[:1]] == ["forward, as it was traced"]
    assert [item.name for item in pictures[0].items] == ["input 0", "multiply", "add", "exp", "sum"]
    assert pictures[0].edges == [(0, 1), (1, 2), (2, 3), (3, 4)]
    if len(pictures) == 4:  # with llvmlite
        assert {item.group for item in pictures[1].items if item.kind == "op"} == {("1: loop",)}

    def writing(x: dt.Tensor) -> dt.Tensor:
        y = x * 2
        y[0] = 5.0
        return y.sum()

    items, edges = (p := dt.compiler.draw(writing)(dt.ones(3))[0]).items, p.edges
    write = next(k for k, item in enumerate(items) if "setitem" in item.name)
    assert (write, len(items) - 1) in edges
    assert dt.draw(dt.compile(f), dt.ones(20, 30)).text().startswith("forward, as it was traced: 5 nodes")
    seen: list[int] = []
    with pytest.raises(ValueError, match="not compiled for these arguments"):
        dt.compiler.draw(lambda x: (seen.append(1), x * 2)[1])(dt.ones(2))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dt.draw(dt.ones(1)), ValueError, "no grad_fn"),
        (lambda: dt.draw(dt.ones(1, requires_grad=True).exp(), dt.ones(1)), TypeError, "no arguments"),
        (lambda: dt.draw(3), TypeError, "expected a tensor"),
        (lambda: dt.draw(lambda x: x.detach(), dt.ones(1)), ValueError, "nothing with a history"),
        (lambda: dt.draw(lambda x: x, dt.ones(1), names={}), TypeError, "names="),
        (lambda: tangled(5).save("picture.gif"), ValueError, r"\.svg"),
    ],
)
def test_what_cannot_be_drawn_says_so(call, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def odd() -> Picture:
    """Names that are something else in the languages of Mermaid and Graphviz."""
    items = [Item('a "b" <lambda> #1', "[1]", "leaf", ("<lambda> × 3",)), Item("end", "1. of", "call"), Item("ü\\n")]
    return Picture('odd "×"', items, [(0, 1), (1, 2)])


def test_graphviz_that_is_missing_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="install Graphviz"):
        tangled(5).save(tmp_path / "a.png")


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz here")
@pytest.mark.parametrize("make", [lambda: dt.draw(network(), dt.ones(5, 4)), tangled, odd], ids=["net", "tree", "odd"])
def test_graphviz_draws_where_it_is_there(make, tmp_path: Path) -> None:
    picture = make()
    picture.save(tmp_path / "a.png")
    picture.save(tmp_path / "a.pdf")
    data = (tmp_path / "a.png").read_bytes()
    width, height = (int.from_bytes(data[k : k + 4], "big") for k in (16, 20))  # of the first chunk, IHDR
    assert data.startswith(b"\x89PNG") and width > 60 and height > 100
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    drawn = tree.fromstring(picture.svg(engine="dot"))
    words = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    shown = picture.legible()
    assert {picture.title, *(item.name.replace("\\\\", "\\") for item in shown.items)} <= set(words)
    assert len([g for g in drawn.iter() if g.get("class") == "node"]) == len(shown)


def test_words_that_mermaid_has_a_use_for_are_written_as_entities() -> None:
    lines = odd().mermaid().splitlines()
    assert lines[1:3] == [
        '  subgraph g1["#lt;lambda#gt; × 3"]',
        '    n0["a #quot;b#quot; #lt;lambda#gt; #35;1<br/>[1]"]:::leaf_box',
    ]
    assert '  n1["end<br/>1. of"]:::call_box' in lines  # "call" alone would end the chart with an error


def test_parameters_of_repeated_layers_are_found_by_their_names() -> None:
    short = dt.draw(network(), dt.ones(5, 4)).without_repeats()
    weight = next(item for item in short.items if item.name == "1.a.weight")
    assert weight.also == tuple(f"{k}.a.weight" for k in range(2, 13)) and "7.a.weight" in weight.words
    assert weight.tip.endswith("also 2.a.weight, 3.a.weight, 4.a.weight …")
    assert 'data-words="1.a.weight [8, 8] 2.a.weight' in dt.draw(network(), dt.ones(5, 4)).html()


def test_a_page_opens_what_stays_legible() -> None:
    def opened(page: str) -> list[str]:
        return re.findall(r'<details data-name="([^"]*)" open>', page)

    nested = Picture("", [Item(f"op{k}", group=("whole", f"part {k // 50}")) for k in range(300)], [])
    assert opened(nested.html()) == ["whole", "part 0"]
    assert opened(dt.draw(network(), dt.ones(5, 4)).html())[0] == "0 (Linear)"


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVE = """<script>
const field=document.querySelector('input'),told=document.querySelector('.told'),seen=[];
const opened=()=>document.querySelectorAll('details[open]').length;
const search=word=>{field.value=word;field.dispatchEvent(new Event('input'));seen.push(told.textContent+'/'+opened())};
seen.push(opened());search('op214');field.dispatchEvent(new KeyboardEvent('keydown',{key:'Enter'}));
seen.push(told.textContent);search('nowhere');search('');
document.querySelector('[data-open="1"]').click();seen.push(opened());
document.querySelector('[data-open="0"]').click();seen.push(opened());
document.querySelector('.box[data-group]').dispatchEvent(new MouseEvent('click'));seen.push(opened());
document.title=seen.join(' ')
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no browser here")
def test_a_page_of_300_nodes_is_searched_and_folded_in_a_browser(tmp_path: Path) -> None:
    items = [Item(f"op{k}", group=(f"part {k // 30}",)) for k in range(300)]
    page = Picture("300 nodes", items, [(k, k + 1) for k in range(299)]).html()
    (tmp_path / "a.html").write_text(page.replace("</body>", f"{DRIVE}</body>"))
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    done = subprocess.run(
        [
            str(BROWSER),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            *quiet,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            (tmp_path / "a.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    seen = re.findall(r"<title>(.*?)</title>", done.stdout)[0]
    # open at first; what a search finds and opens; the next one; nothing found; as before; all, none, one by a click
    assert seen == "1 1 of 1/2 1 of 1 none found/2 /1 10 0 1"


def test_long_paths_of_parameters_keep_their_ends() -> None:
    name = "encoder.layers.1.self_attention.out_projection"
    drawn = Picture("", [Item(f"{name}.weight"), Item(f"{name}.bias")], []).svg()
    assert "out_projection.weight</text>" in drawn and "out_projection.bias</text>" in drawn


def test_what_nothing_leads_to_stands_above_its_first_use() -> None:
    x, w = dt.ones(3, requires_grad=True), dt.ones(3, requires_grad=True)
    drawn = tree.fromstring(dt.draw(x.exp().sin().tanh() * w, names={"x": x, "w": w}).svg())
    height = {
        next(g.iter("{http://www.w3.org/2000/svg}text")).text: float(
            g[[e.tag[-4:] for e in g].index("rect")].get("y", 0)
        )
        for g in drawn.iter("{http://www.w3.org/2000/svg}g")
    }
    assert height["x"] < height["exp"] < height["sin"] < height["w"] == height["tanh"] < height["mul"]


def test_notebooks_show_tensors_and_nodes() -> None:
    x = dt.ones(2, requires_grad=True)
    assert dt.ones(2)._repr_html_() == "<pre>tensor([1., 1.])</pre>"
    assert "its graph: 2 nodes" in x.exp()._repr_html_() and "exp" in x.exp().grad_fn._repr_html_()
