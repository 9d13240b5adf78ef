"""The command ``dualtape``: what it prints, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dualtape as dt
from dualtape.cli import main
from dualtape.commands import ops
from dualtape.commands.ops import explained

WRONG = """
import dualtape as dt
class Wrong(dt.autograd.Function):
    factor = 1.0
    @classmethod
    def make(cls, backward):
        return type("W", (dt.autograd.Function,), {"forward": staticmethod(lambda ctx, x: (ctx.save_for_backward(x), x**2)[1]), "backward": staticmethod(backward)})
def right(x, y): return (x * y).sin()
def sign(x): return Wrong.make(lambda ctx, g: -2 * ctx.saved_tensors[0] * g).apply(x)
def factor(x): return Wrong.make(lambda ctx, g: 6 * ctx.saved_tensors[0] * g).apply(x)
def turned(x): return Wrong.make(lambda ctx, g: (2 * ctx.saved_tensors[0] * g).t()).apply(x)
def detached(x, y): return x * y.detach()
def by_numpy(x): return dt.tensor(x.detach().numpy() ** 2)
number = 3
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "program", raising=False)
    return "program.py"


GUESSES = [
    ("sign", "sign is turned", []),
    ("factor", "factor of 3", []),
    ("turned", "transposed", ["--shape", "3,3"]),
    ("detached", "nothing arrives", []),
    ("by_numpy", "no result has a history", []),
]


@pytest.mark.parametrize(("name", "words", "more"), GUESSES)
def test_check_names_the_entry_and_guesses_the_mistake(program, name, words, more, capsys):
    assert main(["check", f"{program}:{name}", *more]) == 1
    assert words in capsys.readouterr().out
    assert main(["check", f"{program}:{name}", *more, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["right"] and report["problems"]
    if name == "sign":
        problem = report["problems"][0]
        assert problem["input"] == 0 and problem["analytic"] == pytest.approx(-problem["numerical"], rel=1e-4)


def test_check_of_a_right_function(program, capsys):
    assert main(["check", f"{program}:right", "--shape", "2,3", "--shape", "scalar"]) == 0
    assert "are right" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["check", "program.py:nothing"],
        ["check", "program.py:number"],
        ["check", "nonsense"],
        ["check", "no_such_module:f"],
        ["check", "program.py:right", "--shape", "a"],
        ["explain", "sinn"],
        ["graph", "program.py:by_numpy"],
        ["profile", "nothing.py"],
        ["nothing"],
    ],
)
def test_wrong_use_is_told_with_status_two(program, words, capsys):
    with pytest.raises(SystemExit) as error:
        main(words)
    assert error.value.code == 2 and capsys.readouterr().err


def test_ops_are_listed_and_searched(capsys):
    assert main(["ops", "softmax"]) == 0
    assert "log_softmax" in capsys.readouterr().out
    assert main(["ops", "--json", "logarithm"]) == 0
    assert any(row["name"] == "log" for row in json.loads(capsys.readouterr().out))
    assert main(["ops", "no such words at all"]) == 1
    capsys.readouterr()
    assert main(["ops", "--missing"]) == 0
    assert "quantis" in capsys.readouterr().out


def test_an_op_is_explained(capsys):
    assert main(["explain", "tanh", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["node"] == ["TanhBackward0"] and "out" in told["saves"] and told["in place"]
    for name in ("torch.linalg.solve", "nn.functional.relu", "softmax", "einsum"):
        assert main(["explain", name]) == 0
        assert "defined" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["explain", "sinn"])
    assert "sin" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tanh", "eq", "gather", "softmax", "hstack", "einsum", "fft_fft"])
def test_an_op_is_found_where_it_is_declared(name):
    file, _, line = explained(name)["defined"].partition(":")
    text = (Path(dt.__file__).parent.parent / file).read_text().splitlines()[int(line) - 1]
    assert f'"{name}"' in text or text.lstrip().startswith(("def ", "@"))


def test_a_graph_is_drawn(program, tmp_path, capsys):
    assert main(["graph", f"{program}:right", "--out", str(tmp_path / "graph.svg")]) == 0
    assert "SinBackward0" in (tmp_path / "graph.svg").read_text()
    capsys.readouterr()
    assert main(["graph", f"{program}:right"]) == 0
    assert capsys.readouterr().out.startswith("right: ")
    with pytest.raises(SystemExit):
        main(["graph", f"{program}:right", "--out", str(tmp_path / "graph.gif")])
    assert ".svg" in capsys.readouterr().err


def test_a_script_is_profiled(tmp_path):
    (tmp_path / "script.py").write_text(
        "import sys, dualtape as dt\nx = dt.ones(3, requires_grad=True)\nx.exp().sum().backward()\nprint(sys.argv[1:])"
    )
    command = [sys.executable, "-m", "dualtape", "profile", "--out", "here", "script.py", "--a", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "['--a', '1']" in done.stdout and "ExpBackward0" in done.stdout
    assert json.loads((tmp_path / "here" / "trace.json").read_text())["traceEvents"]
    assert "script.py" in (tmp_path / "here" / "flames.svg").read_text()
    (tmp_path / "script.py").write_text("import dualtape as dt\ndt.ones(1).sin()\nraise SystemExit(3)")
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 3 and "aten::sin" in done.stdout


def test_doctor_tells_what_is_there(capsys):
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["numpy"] and "gives" in found["optional"]["cupy"]
    assert main(["doctor"]) == 0
    assert "threads" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_the_command(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "explain" in text and "doctor" in text and "missing" in text
    if shell == "bash":
        script = f"{text}\nCOMP_WORDS=(dualtape exp); COMP_CWORD=1; _dualtape; echo $COMPREPLY"
        assert subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout.strip() == "explain"


def test_only_what_is_saved_is_explained(capsys):
    import dualtape as dt

    for name, saved in (("mul", ["x", "y"]), ("exp", ["out"]), ("add", ["alpha"])):
        assert main(["explain", name, "--json"]) == 0
        assert [name for name in json.loads(capsys.readouterr().out)["saves"] if not name.endswith("_shape")] == saved
    x = dt.ones(2, requires_grad=True)
    assert (x * x).grad_fn._saved_self is x


def test_the_machine_is_timed(capsys, monkeypatch):
    from dualtape.commands import bench

    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    assert main(["bench", "--json"]) == 0
    assert all(0 < found["minimum"] <= found["median"] for found in json.loads(capsys.readouterr().out))
    assert main(["bench"]) == 0
    assert "µs" in capsys.readouterr().out


def test_explain_shows_the_derivative_that_a_row_gives_and_an_examples_graph():
    told = explained("tanh")
    assert told["formulas"] == {"x": "lambda g, out: g * conj(1 - out * out)"}
    assert told["graph"].split() == "input [3, 4] leaf tanh [3, 4] <- input keeps 96 B".split()
    assert explained("mul")["formulas"] == {
        "x": "lambda g, y: g * y.conjugate()",
        "y": "lambda g, x: g * x.conjugate()",
    }
    assert explained("argmax")["graph"] == "" and "native_layer_norm" in explained("layer_norm")["graph"]
    assert (
        explained("layer_norm")["signature"] == "layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)"
    )


def test_every_op_can_be_explained():
    for name in ops.rows():
        told = explained(name)
        assert told["signature"].startswith(name) and all(told.get("formulas", {"": " "}).values()), name
        assert not any("derivative(value)" in text for text in told.get("formulas", {}).values()), name


MODULES = """
import dualtape as dt
class Net(dt.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = dt.nn.Linear(3, 2)
    def forward(self, x):
        return self.a(x).tanh()
class Sized(dt.nn.Module):
    def __init__(self, n):
        super().__init__()
net = Net()
def halved(x):
    class Half(dt.autograd.Function):
        forward = staticmethod(lambda ctx, x: x * 2)
        backward = staticmethod(lambda ctx, g: g)
    return Half.apply(x)
"""


@pytest.mark.parametrize("name", ["net", "Net"])
def test_modules_are_checked_and_drawn_in_their_own_type(name, tmp_path, monkeypatch, capsys):
    (tmp_path / "modules.py").write_text(MODULES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "modules", raising=False)
    assert main(["check", f"modules.py:{name}", "--shape", "5,3"]) == 0
    assert "right" in capsys.readouterr().out
    assert main(["graph", f"modules.py:{name}"]) == 0
    assert "addmm" in (told := capsys.readouterr().out) or "mv" in told or "addmv" in told
    assert main(["check", "modules.py:halved"]) == 1
    assert "a factor of 2 is missing" in capsys.readouterr().out
    for wrong, words in {name: "shapes [2, 2]", "Sized": "name a module"}.items():
        with pytest.raises(SystemExit) as ended:
            main(["check", f"modules.py:{wrong}", "--shape", "2,2"])
        assert ended.value.code == 2 and words in capsys.readouterr().err


def test_a_profile_is_told_as_json_too(tmp_path, monkeypatch, capsys):
    (tmp_path / "script.py").write_text("import dualtape as dt\ndt.ones(3).sin()\n")
    monkeypatch.setattr(sys, "argv", ["dualtape"])
    assert main(["profile", "--json", "--out", str(tmp_path / "out"), str(tmp_path / "script.py")]) == 0
    told = json.loads(capsys.readouterr().out)
    names = [event["name"] for event in told["events"]]
    assert "aten::sin" in names and told["self_cpu_time_total"] > 0 and told["events"][0]["count"] >= 1


FILES = {
    "numpy.py": "def f(x): return x * x",
    "dualtape.py": "def f(x): return x * x",
    "json.py": "def f(x): return x * x",
    "my-mod.py": "def f(x): return x * x",
    "a.b.py": "def f(x): return x * x",
    "with space.py": "def f(x): return x * x",
    "uses.py": "import beside_it\ndef f(x): return beside_it.g(x)",
    "beside_it.py": "def g(x): return x * 3",
    "data.py": "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\ndef f(x): return x.sin()",
}
BROKEN = {
    "raises.py": ("raise ValueError('bad')", "bad"),
    "divides.py": ("1/0", "ZeroDivisionError"),
    "ends.py": ("raise SystemExit(3)", "status 3"),
    "syntax.py": ("def f(x:", "SyntaxError"),
    "needs.py": ("import nothing_there", "nothing_there"),
    "binary.py": ("\udcff\udcfe", "SyntaxError"),
}


def put(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("name", FILES)
def test_the_file_that_is_named_is_the_one_that_is_read(name, program, tmp_path, capsys, monkeypatch):
    """Also where a package or a module that is already imported has its name."""
    for each, text in FILES.items():
        put(tmp_path / "dir", each, text)
    before = sys.modules.get(name.removesuffix(".py"))
    if name != "beside_it.py":
        assert main(["check", f"dir/{name}:f"]) == 0, capsys.readouterr().err
        assert "are right" in capsys.readouterr().out
    assert sys.modules.get(name.removesuffix(".py")) is before
    monkeypatch.delitem(sys.modules, "beside_it", raising=False)


@pytest.mark.parametrize("name", [*BROKEN, "folder.py", "nothing.py"])
def test_a_file_that_cannot_be_imported_is_told_in_a_line(name, program, tmp_path, capsys):
    (tmp_path / "dir" / "folder.py").mkdir(parents=True)
    text, words = BROKEN.get(name, ("", "there is no file"))
    if text:
        put(tmp_path / "dir", name, text)
    for command in ("check", "graph"):
        with pytest.raises(SystemExit) as error:
            main([command, f"dir/{name}:f"])
        assert error.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["check", ".:f"],
        ["check", "..x:f"],
        ["check", "dir/program:f"],
        ["check", "a..b:f"],
        ["check", "program.py:right", "--shape", "²"],
        ["check", "program.py:right", "--shape", "99999999999999", "--shape", "3"],
        ["check", "program.py:right", "--shape", "3,,4"],
        ["graph", "program.py:right", "--out", "no/such/x.svg"],
        ["graph", "program.py:right", "--out", "dir.svg"],
        ["profile", "dir.svg"],
        ["profile", "--out", "program.py", "program.py"],
        ["profile", "--out", "program.py/x", "program.py"],
        ["tour", "--out", "program.py"],
        ["tour", "--out", "program.py/x"],
    ],
)
def test_odd_paths_and_shapes_are_told_without_a_traceback(words, program, tmp_path, capsys):
    (tmp_path / "dir.svg").mkdir()
    with pytest.raises(SystemExit) as error:
        main(words)
    assert error.value.code == 2 and "error: " in capsys.readouterr().err


def test_without_a_command_the_help_is_printed(capsys):
    from dualtape.cli import main

    assert main([]) == 0
    assert "usage: dualtape" in capsys.readouterr().out


def test_an_error_shows_the_usage_of_its_command(capsys, tmp_path):
    from dualtape.cli import main

    with pytest.raises(SystemExit):
        main(["check", str(tmp_path / "none.py:f")])
    assert "usage: dualtape check [-h]" in capsys.readouterr().err


def test_an_error_of_the_users_function_shows_its_lines(capsys, tmp_path):
    from dualtape.cli import main

    (tmp_path / "mine.py").write_text("def f(x):\n    return inner(x)\ndef inner(x):\n    return x.view(77)\n")
    with pytest.raises(SystemExit):
        main(["check", f"{tmp_path / 'mine.py'}:f"])
    said = capsys.readouterr().err
    assert 'mine.py", line 2, in f\n    return inner(x)' in said and "line 4, in inner\n    return x.view(77)" in said
    assert "site-packages/dualtape" not in said and "dispatch.py" not in said


def test_a_graph_as_json_has_nodes_and_edges(capsys, tmp_path):
    from dualtape.cli import main

    (tmp_path / "mine.py").write_text("def f(x):\n    return (x * x).sum()\n")
    assert main(["graph", f"{tmp_path / 'mine.py'}:f", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = {node["id"]: node["name"] for node in told["nodes"]}
    assert sorted(names.values()) == ["mul", "sum", "x"]
    assert {(names[edge["from"]], names[edge["to"]]) for edge in told["edges"]} == {("x", "mul"), ("mul", "sum")}
    assert next(node for node in told["nodes"] if node["name"] == "mul")["line"].endswith("mine.py:2")
