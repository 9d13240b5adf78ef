"""Module: what it keeps, how it is called, and what its hooks see, as PyTorch's does it."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import warnings
from typing import Any

import pytest

import dualtape as dt
from same_program import needs_torch, programs, same

with contextlib.suppress(ImportError):
    import torch.nn.utils.prune  # noqa: F401 - which PyTorch does not import by itself

NET = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(2, 3)
        self.rest = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        self.scale = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
        self.register_parameter("none", None)
        self.tied = self.first
        for k, p in enumerate(self.parameters()):
            p.data = torch.arange(float(p.numel())).reshape(p.shape) / 10 + k
    def forward(self, x, factor=1):
        return self.rest(self.first(x)) * self.scale * factor
net = Net()
x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
log = []
def error(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__
"""

PROGRAMS = programs("""
    # names and trees
    list(net.state_dict())
    [n for n, _ in net.named_parameters()]
    [n for n, _ in net.named_parameters(remove_duplicate=False)]
    [n for n, _ in net.named_parameters("a", recurse=False)]
    [n for n, _ in net.named_buffers()]
    [n for n, _ in net.named_buffers("p")]
    [n for n, _ in net.named_modules()]
    [n for n, _ in net.named_modules(prefix="p", remove_duplicate=False)]
    [n for n, _ in net.named_children()]
    [len(list(f())) for f in (net.parameters, net.buffers, net.children, net.modules)]
    len(list(net.modules(remove_duplicate=False)))
    repr(net)
    [net.get_submodule("rest.0") is net.rest[0], net.get_submodule("") is net, net.get_parameter("rest.0.bias") is net.rest[0].bias]
    net.get_buffer("rest.1.running_var")
    [error(lambda: net.get_submodule(p)) for p in ("nowhere", "scale", "rest.0.weight", "rest.7")]
    [error(lambda: net.get_parameter(p)) for p in ("seen", "nowhere", "first")]
    [error(lambda: net.get_buffer(p)) for p in ("scale", "nowhere", "first.weight")]
    net.set_submodule("rest.0", torch.nn.Identity()); repr(net)
    net.set_submodule("rest.new", torch.nn.Identity()); list(net.rest._modules)
    [error(lambda: net.set_submodule(*a)) for a in (("", net), ("rest.0", 3), ("rest.9", net.first, True), ("scale", net.first))]
    net.add_module("more", torch.nn.ReLU()); net.register_module("other", None); [n for n in net._modules]
    [error(lambda: net.add_module(*a)) for a in ((3, net), ("a.b", net.first), ("", net.first), ("scale", net.first), ("m", 3))]
    [error(lambda: net.register_parameter(*a)) for a in ((3, None), ("a.b", None), ("", None), ("first", None), ("m", torch.ones(1)))]
    [error(lambda: net.register_buffer(*a)) for a in ((3, None), ("a.b", None), ("", None), ("first", None), ("m", 3))]
    error(lambda: net.register_parameter("m", torch.nn.Parameter(torch.ones(1)) * 2))
    # attributes
    net.scale = None; list(net.state_dict())
    error(lambda: setattr(net, "scale", torch.ones(2)))
    error(lambda: setattr(net, "first", 3))
    error(lambda: setattr(net, "seen", 3))
    net.seen = torch.full((1,), 7.0); net.state_dict()["seen"]
    net.seen = None; [list(net.state_dict()), net.seen is None]
    net.first = torch.nn.Parameter(torch.ones(1)); [list(net._parameters), list(net._modules), [n for n, _ in net.named_parameters()]]
    net.scale = torch.nn.Linear(1, 1); [list(net._parameters), list(net._modules)]
    net.seen = torch.nn.Parameter(torch.ones(1)); [list(net._parameters), list(net._buffers)]
    net.plain = torch.ones(1); [list(net.state_dict()), "plain" in net.__dict__]
    net.plain = torch.ones(1); net.plain = torch.nn.Parameter(torch.ones(1)); ["plain" in net.__dict__, "plain" in net._parameters]
    net.buf = torch.nn.Buffer(torch.ones(1), persistent=False); [list(net._buffers), list(net.state_dict())]
    net.buf = torch.nn.Buffer(torch.ones(1)); net.buf = torch.zeros(1); [list(net.state_dict()), net.buf]
    del net.scale, net.first, net.seen; [list(net._parameters), list(net._modules), list(net._buffers)]
    error(lambda: net.nowhere)
    error(lambda: delattr(net, "nowhere"))
    [n in dir(net) for n in ("scale", "first", "seen", "forward", "nowhere")]
    error(lambda: type("Bad", (torch.nn.Module,), {"__init__": lambda self: setattr(self, "p", torch.nn.Parameter(torch.ones(1)))})())
    error(lambda: type("Bad", (torch.nn.Module,), {"__init__": lambda self: setattr(self, "p", torch.nn.ReLU())})())
    error(lambda: type("Bad", (torch.nn.Module,), {"__init__": lambda self: self.register_buffer("p", None)})())
    error(lambda: torch.nn.Module(1))
    error(lambda: torch.nn.Module(a=1))
    error(lambda: torch.nn.Module()(1))
    net.scratch = torch.nn.Parameter(torch.ones(1)); [sorted(net._non_persistent_buffers_set), list(net._buffers), "scratch" in net.state_dict()]
    del net.scratch; sorted(net._non_persistent_buffers_set)
    # state dicts
    net.state_dict(prefix="a.")["a.seen"]
    [list(d) for d in [net.state_dict(destination={"k": 1})]]
    [v.requires_grad for v in net.state_dict(keep_vars=True).values()]
    [v.requires_grad for v in net.state_dict().values()]
    net.state_dict(keep_vars=True)["scale"] is net.scale
    net.state_dict()["scale"].data_ptr() == net.scale.data_ptr()
    [[k, v["version"]] for k, v in net.state_dict()._metadata.items()]
    other = Net(); other.scale.data += 5; [str(net.load_state_dict(other.state_dict())), net.scale.detach()]
    s = net.state_dict(); del s["scale"]; s["odd.name"] = x; s["odd"] = x; r = net.load_state_dict(s, strict=False); [r.missing_keys, r.unexpected_keys, r[0]]
    s = net.state_dict(); del s["scale"]; error(lambda: net.load_state_dict(s))
    s = net.state_dict(); s["scale"] = torch.ones(3); error(lambda: net.load_state_dict(s, strict=False))
    s = net.state_dict(); s["scale"] = 3; error(lambda: net.load_state_dict(s))
    error(lambda: net.load_state_dict([1]))
    s = net.state_dict(); s["scale"] = torch.ones(3); s["first.weight"] = torch.zeros(3, 2); error(lambda: net.load_state_dict(s)); net.first.weight.detach()
    old = net.scale; net.load_state_dict({k: v.clone() + 1 for k, v in net.state_dict().items()}, assign=True); [net.scale is old, net.scale.requires_grad, net.scale.detach()]
    net.scale.requires_grad_(False); net.load_state_dict({k: torch.nn.Parameter(v.clone()) if v.is_floating_point() else v for k, v in net.state_dict().items()}, assign=True); [net.scale.requires_grad, isinstance(net.seen, torch.nn.Parameter)]
    s = {k: v.double() for k, v in net.state_dict().items() if v.is_floating_point()}; net.load_state_dict(s, strict=False, assign=True); net.scale.dtype
    s = {k: v.double() for k, v in net.state_dict().items() if v.is_floating_point()}; net.load_state_dict(s, strict=False); net.scale.dtype
    b = torch.nn.BatchNorm1d(2); s = {k: v for k, v in b.state_dict().items() if k != "num_batches_tracked"}; str(b.load_state_dict(s))
    net.register_state_dict_pre_hook(lambda m, p, k: log.append((p, k))); net.register_state_dict_post_hook(lambda m, s, p, l: s.pop("scale") and None); [list(net.state_dict(prefix="")), log]
    net.register_state_dict_post_hook(lambda m, s, p, l: 3); error(lambda: net.state_dict())
    net._register_state_dict_hook(lambda m, s, p, l: {"only": 1}); net.state_dict()
    net.rest.register_load_state_dict_pre_hook(lambda m, s, p, l, strict, missing, unexpected, errors: log.append((p, strict, sorted(s)))); net.load_state_dict(net.state_dict()); log
    net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear()); s = net.state_dict(); del s["scale"]; str(net.load_state_dict(s))
    net.register_load_state_dict_post_hook(lambda m, keys: 3); error(lambda: net.load_state_dict(net.state_dict()))
    h = net.register_state_dict_pre_hook(lambda m, p, k: log.append(1)); h.remove(); net.state_dict(); log
    net.__class__.get_extra_state = lambda self: {"k": 1}; net.__class__.set_extra_state = lambda self, s: log.append(s); s = net.state_dict(); net.load_state_dict(s); [s["_extra_state"], list(s)[-1], log]
    net.__class__.get_extra_state = lambda self: 5; net.__class__.set_extra_state = lambda self, s: log.append(s); s = net.state_dict(); del s["_extra_state"]; [net.load_state_dict(s, strict=False).missing_keys, error(lambda: net.load_state_dict(s))]
    s = net.state_dict(); s["_extra_state"] = 1; net.load_state_dict(s, strict=False).unexpected_keys
    s = net.state_dict(); s["rest._extra_state"] = 1; s["rest.0.odd"] = 1; s["other.a"] = 1; net.load_state_dict(s, strict=False).unexpected_keys
    m = torch.nn.Module(); m.number = torch.nn.Parameter(torch.tensor(1.0)); m.load_state_dict({"number": torch.tensor([5.0])}); m.number.detach()
    i = torch.nn.InstanceNorm1d(2); error(lambda: i.load_state_dict({"running_mean": torch.ones(2)}))
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(s := net.first.state_dict(prefix="m."), "m."); [list(s), list(s._metadata)]
    # conversions
    m = torch.nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last); [m.weight.stride(), m.bias.stride()]
    m = torch.nn.Linear(2, 2, dtype=torch.float64, device="cpu"); [m.weight.dtype, m.bias.dtype]
    [torch.nn.Linear(0, 3).weight.shape, torch.nn.Linear(3, 0)(torch.ones(2, 3)).shape, torch.nn.Linear(0, 2, bias=False)(torch.ones(3, 0))]
    net.to(torch.complex64); [net.scale.dtype, net.seen.dtype, net.rest[1].num_batches_tracked.dtype]
    net.scale.data = net.scale.data.half(); net.to(x); net.scale.dtype
    net.double(); [p.dtype for p in net.parameters()] + [b.dtype for b in net.buffers()]
    net.half(); net.bfloat16(); net.float(); [b.dtype for b in net.buffers()]
    p = net.scale; net.to(torch.float64); [net.scale is p, p.dtype]
    net.to("cpu", torch.float64); net.scale.dtype
    net.to(torch.ones(1, dtype=torch.float64)); net.scale.dtype
    net.to(dtype=torch.float64, device="cpu"); net.scale.dtype
    net.to(device="cpu"); net.scale.dtype
    error(lambda: net.to(torch.int64))
    error(lambda: net.to(nothing=1))
    net(x).sum().backward(); g = net.scale.grad; net.double(); [net.scale.grad.dtype, net.scale.grad is g]
    net.type(torch.float64); [net.scale.dtype, net.rest[1].num_batches_tracked.dtype]
    net.to_empty(device="cpu").scale.shape
    net.requires_grad_(False); [p.requires_grad for p in net.parameters()]
    net(x).sum().backward(); net.zero_grad(); [p.grad is None for p in net.parameters()]
    net(x).sum().backward(); net.zero_grad(set_to_none=False); [float(p.grad.abs().sum()) for p in net.parameters()]
    net.eval(); [m.training for m in net.modules()]
    net.eval().train(); [m.training for m in net.modules()]
    error(lambda: net.train(1))
    net.apply(lambda m: log.append(type(m).__name__)); log
    # calling
    type("Mine", (torch.nn.Module,), {"call_super_init": True, "__init__": lambda self: torch.nn.Module.__init__(self)})().training
    type("Pair", (torch.nn.Module, type("Other", (), {"__init__": lambda self, a: setattr(self, "a", a)})), {"call_super_init": True})(3).a
    type("Own", (torch.nn.Module,), {"__call__": lambda self, v: v * 2})()(x)
    type("Old", (torch.nn.Linear,), {"register_buffer": lambda self, name, tensor: torch.nn.Module.register_buffer(self, name, tensor)})(1, 1).register_buffer("b", None)
    m = type("Old", (torch.nn.Module,), {"register_buffer": lambda self, name, tensor: torch.nn.Module.register_buffer(self, name, tensor)})(); m.b = torch.nn.Buffer(torch.ones(1)); [list(m.state_dict()), error(lambda: setattr(m, "c", torch.nn.Buffer(torch.ones(1), persistent=False)))]
    h = net.register_forward_hook(lambda m, a, o: h.remove()); net(x); len(net._forward_hooks)
    with net.register_forward_hook(lambda m, a, o: o * 0): y = net(x)
    torch.nn.Sequential(net.first, net.rest)(x)
    m = torch.nn.Module(); m.list = [torch.nn.Linear(1, 1)]; list(m.state_dict())
    torch.func.functional_call(net, {"first.weight": torch.zeros(3, 2)}, x) - torch.func.functional_call(net, {"tied.weight": torch.zeros(3, 2)}, x)
    error(lambda: torch.func.functional_call(net, {"first.weight": torch.zeros(3, 2), "tied.weight": torch.ones(3, 2)}, x))
    torch.func.functional_call(net.eval(), {"first.weight": torch.zeros(3, 2)}, x, tie_weights=False)
    m = net.rest[1]; b = dict(m.named_buffers()); c = {k: v.clone() for k, v in b.items()}; torch.func.functional_call(m, c, (x,)); [b["running_mean"], c["running_mean"], c["num_batches_tracked"]]
    net(x, factor=2)
    error(lambda: torch.nn.Module().forward(1))
    # hooks on the forward
    net.register_forward_pre_hook(lambda m, a: log.append(("pre", len(a)))); net.register_forward_hook(lambda m, a, o: log.append(("post", len(a)))); net(x); log
    net.register_forward_pre_hook(lambda m, a: (a[0] * 2,)); net(x)
    net.register_forward_pre_hook(lambda m, a: a[0] * 2); net(x)
    net.register_forward_pre_hook(lambda m, a, k: (a, {"factor": 3}), with_kwargs=True); net(x)
    net.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True); error(lambda: net(x))
    net.register_forward_hook(lambda m, a, o: o * 0); net(x)
    net.register_forward_hook(lambda m, a, k, o: log.append(k), with_kwargs=True); net(x, factor=2); log
    [net.register_forward_hook(lambda m, a, o, k=k: log.append(k), prepend=k > 1) for k in range(4)]; net(x); log
    [net.register_forward_pre_hook(lambda m, a, k=k: log.append(k), prepend=k > 1) for k in range(4)]; net(x); log
    h = net.register_forward_hook(lambda m, a, k, o: log.append(1), with_kwargs=True, always_call=True); h.remove(); net(x); [log, len(net._forward_hooks), len(net._forward_hooks_with_kwargs), len(net._forward_hooks_always_called)]
    net.register_forward_hook(lambda m, a, o: log.append(o is None), always_call=True); [error(lambda: net(x, 1, 2)), log]
    net.register_forward_hook(lambda m, a, o: 1 / 0); net.register_forward_hook(lambda m, a, o: log.append(o.shape), always_call=True); [error(lambda: net(x)), len(log)]
    net.register_forward_hook(lambda m, a, o: log.append("early"), always_call=True); net.register_forward_hook(lambda m, a, o: 1 / 0); [error(lambda: net(x)), log]
    net.register_forward_hook(lambda m, a, o: [][0], always_call=True); error(lambda: net(x, 1, 2))
    net.register_forward_pre_hook(lambda m, a: 1 / 0); net.register_forward_hook(lambda m, a, o: log.append(1), always_call=True); [error(lambda: net(x)), log]
    h = torch.nn.modules.module.register_module_forward_hook(lambda m, a, o: log.append(type(m).__name__)); net.register_forward_hook(lambda m, a, o: log.append("own")); net(x); h.remove(); net(x); log
    h = torch.nn.modules.module.register_module_forward_pre_hook(lambda m, a: log.append(type(m).__name__)); net.register_forward_pre_hook(lambda m, a: log.append("own")); net(x); h.remove(); log
    h = torch.nn.modules.module.register_module_forward_hook(lambda m, a, k, o: log.append(k), with_kwargs=True); net(x, factor=4); h.remove(); log[-1]
    # hooks on the backward
    net.register_full_backward_hook(lambda m, gi, go: log.append([gi, go])); net(x.requires_grad_()).sum().backward(); log
    net.register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,)); net(x.requires_grad_()).sum().backward(); x.grad
    net.register_full_backward_hook(lambda m, gi, go: (1, 2, 3)); y = net(x.requires_grad_()).sum(); error(lambda: y.backward())
    net.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,)); net(x.requires_grad_()).sum().backward(); [x.grad, net.scale.grad]
    net.register_full_backward_pre_hook(lambda m, go: (1, 2)); y = net(x.requires_grad_()).sum(); error(lambda: y.backward())
    net.register_full_backward_hook(lambda m, gi, go: log.append([gi[0] is None, go[0]])); net(x).sum().backward(); log
    net.register_full_backward_hook(lambda m, gi, go: (gi[0], 1)); y = net(x).sum(); error(lambda: y.backward())
    [net.register_full_backward_hook(lambda m, gi, go, k=k: log.append(k), prepend=k > 1) for k in range(4)]; net(x).sum().backward(); log
    net.register_full_backward_hook(lambda m, gi, go: log.append("full")); net.register_full_backward_pre_hook(lambda m, go: log.append("pre")); net.first.register_full_backward_hook(lambda m, gi, go: log.append("first")); net(x.requires_grad_()).sum().backward(); log
    net.register_full_backward_hook(lambda m, gi, go: None); error(lambda: net.register_backward_hook(lambda m, gi, go: None))
    net.register_backward_hook(lambda m, gi, go: log.append([len(gi), go])); net(x).sum().backward(); log
    net.register_backward_hook(lambda m, gi, go: None); error(lambda: net.register_full_backward_hook(lambda m, gi, go: None))
    net.register_full_backward_hook(lambda m, gi, go: log.append(1)); y = net(x.requires_grad_()); y.sum().backward(create_graph=True); len(log)
    net.register_full_backward_hook(lambda m, gi, go: log.append(1)); error(lambda: net(x.requires_grad_()).add_(1))
    net.register_full_backward_hook(lambda m, gi, go: log.append(1)); [net(x).requires_grad, log]
    h = torch.nn.modules.module.register_module_full_backward_hook(lambda m, gi, go: log.append(type(m).__name__)); net(x.requires_grad_()).sum().backward(); h.remove(); log
    h = torch.nn.modules.module.register_module_full_backward_pre_hook(lambda m, go: log.append(type(m).__name__)); net(x.requires_grad_()).sum().backward(); h.remove(); log
    with torch.no_grad(): y = net.register_full_backward_hook(lambda m, gi, go: log.append(1)) and net(x)
    m = torch.nn.Tanh(); m.register_full_backward_hook(lambda m, gi, go: log.append(len(gi))); x.requires_grad_(); g, = torch.autograd.grad(m(x).sum(), x, create_graph=True); n = len(log); g.sum().backward(); [n, len(log), x.grad]
    # hooks on registration
    h = torch.nn.modules.module.register_module_parameter_registration_hook(lambda m, n, p: log.append(n)); torch.nn.Linear(1, 1); h.remove(); log
    h = torch.nn.modules.module.register_module_buffer_registration_hook(lambda m, n, p: log.append(n)); torch.nn.BatchNorm1d(1); h.remove(); log
    h = torch.nn.modules.module.register_module_module_registration_hook(lambda m, n, p: torch.nn.Identity()); s = torch.nn.Sequential(torch.nn.Linear(1, 1)); h.remove(); repr(s)
    # copies
    c = copy.deepcopy(net); [c.scale is net.scale, c.tied is c.first, repr(c) == repr(net), c(x)]
    c = copy.copy(net); [c.scale is net.scale, c.first is net.first, c._parameters is net._parameters]
    net.hook = net.register_forward_hook(lambda m, a, o: log.append(1)); c = copy.deepcopy(net); c(x); c.hook.remove(); c(x); net(x); log
    net.scale.grad = torch.ones(2); copy.deepcopy(net).scale.grad is None
    # containers
    s = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.ELU()); [repr(s[0]), repr(s[1:]), repr(s[-1]), len(s), repr(s.pop(1)), repr(s)]
    s = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()); s.insert(1, torch.nn.ELU()); s.append(torch.nn.GELU()); s.extend([torch.nn.SELU()]); repr(s)
    s = torch.nn.Sequential(torch.nn.ReLU()); t = s + s; s += t; u = s * 2; s *= 2; [repr(t), repr(s), repr(2 * t), repr(u), type(u).__name__]
    s = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.ELU()); del s[0]; s[0] = torch.nn.GELU(); [repr(s), list(s._modules)]
    s = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.ELU()); del s[:2]; [list(s._modules), repr(s)]
    s = torch.nn.Sequential(torch.nn.ReLU()); [error(lambda: s[3]), error(lambda: s + 3), error(lambda: s * 0), error(lambda: s * 1.5), error(lambda: s.insert(9, s[0])), error(lambda: s.append(3)), error(lambda: torch.nn.Sequential(3))]
    l = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Linear(1, 1)]); l.append(torch.nn.Linear(1, 1)); l.insert(0, torch.nn.Tanh()); l += [torch.nn.ELU()]; [repr(l), len(l), repr(l[1:3]), repr(l + l), repr(l.pop(0)), repr(l)]
    l = torch.nn.ModuleList([torch.nn.ReLU()]); [error(lambda: l[1]), error(lambda: l.extend(3)), error(lambda: l(1)), error(lambda: l.append(1)), repr(torch.nn.ModuleList())]
    d = torch.nn.ModuleDict({"a": torch.nn.ReLU(), "b": torch.nn.Tanh()}); d["c"] = torch.nn.ELU(); d.update([("d", torch.nn.GELU())]); [list(d), repr(d), "a" in d, len(d), repr(d.pop("a")), list(d.keys()), [repr(v) for v in d.values()]]
    d = torch.nn.ModuleDict(); [error(lambda: d["a"]), error(lambda: d.update(3)), error(lambda: d.update([(1, 2, 3)])), error(lambda: d.update([3])), error(lambda: d.__setitem__("a", 3)), error(lambda: d.update([(1, torch.nn.ReLU())]))]
    p = torch.nn.ParameterList([torch.ones(2), torch.nn.Parameter(torch.zeros(1)), "text"]); p.append(torch.ones(1)); p += [torch.ones(3)]; [len(p), list(p.state_dict()), [isinstance(v, torch.nn.Parameter) for v in p], p[-1].detach(), len(p[1:3])]
    p = torch.nn.ParameterList([torch.ones(2)]); p[0] = torch.zeros(2); [p[0].detach(), error(lambda: p[1]), error(lambda: p.extend(3)), error(lambda: p.extend(torch.ones(1))), error(lambda: p(1))]
    p = torch.nn.ParameterDict({"a": torch.ones(2), "t": "text"}); p["b"] = torch.zeros(1); p.update({"c": torch.ones(1)}); [list(p), list(p.state_dict()), "a" in p, p.get("z", 5), p.setdefault("t", 4), list(p.keys()), len(p), p.pop("t"), [k for k, _ in p.items()], list(reversed(p))]
    p = torch.nn.ParameterDict({"a": torch.ones(2)}); q = torch.nn.ParameterDict({"b": torch.ones(1)}); r = p | q; p |= q; [list(r), list(p), p.popitem()[0], list(p.copy()), list(p.fromkeys(["u", "v"], 1)), error(lambda: p["z"]), p.clear(), len(p), error(lambda: p.__setitem__(3, 1)), error(lambda: p.__setitem__("keys", torch.ones(1)))]
    # lazy ones
    torch.nn.LazyLinear(3).weight.shape
    torch.nn.LazyLinear(3).weight + 1
    torch.nn.LazyLinear(3).weight.sum()
    torch.nn.LazyLinear(3).weight[0]
    l = torch.nn.LazyLinear(3); [repr(l), l.has_uninitialized_params(), l(torch.ones(2, 5)).shape, repr(l), type(l).__name__, l.weight.shape]
    l = torch.nn.LazyLinear(3); m = torch.nn.LazyLinear(3); m(torch.ones(2, 5)); l.load_state_dict(m.state_dict()); [l.weight.shape, type(l).__name__, l(torch.ones(1, 5)).shape, type(l).__name__]
    l = torch.nn.LazyLinear(3).double(); [l.weight.dtype, error(lambda: l.share_memory()), l(torch.ones(2, 5, dtype=torch.float64)).dtype, l.weight.dtype]
    l = copy.deepcopy(torch.nn.LazyLinear(3)); l(torch.ones(2, 4)).shape
    l = torch.nn.LazyLinear(3); [[k, repr(v)] for k, v in l.state_dict().items()]
    p = torch.nn.UninitializedParameter(); [repr(p), p.requires_grad, torch.nn.parameter.is_lazy(p), isinstance(p, torch.nn.Parameter), p.materialize((2, 3)), type(p).__name__, p.shape]
    # parametrised ones
    torch.nn.utils.parametrize.register_parametrization(net.first, "weight", torch.nn.ReLU()); [[n for n, _ in net.first.named_parameters()], repr(net.first), net.first.weight.detach(), type(net.first).__name__, torch.nn.utils.parametrize.is_parametrized(net.first), net(x)]
    torch.nn.utils.parametrize.register_parametrization(net.first, "weight", torch.nn.ReLU()); [error(lambda: setattr(net.first, "weight", torch.ones(3, 2))), error(lambda: copy.deepcopy(net.first).weight.shape[0]), error(lambda: pickle.dumps(net.first))]
    torch.nn.utils.parametrize.register_parametrization(net.first, "weight", torch.nn.ReLU()); torch.nn.utils.parametrize.register_parametrization(net.first, "weight", torch.nn.Tanh()); torch.nn.utils.parametrize.register_parametrization(net.first, "bias", torch.nn.ELU()); [list(net.first.state_dict()), net(x), repr(net)]
    torch.nn.utils.parametrize.register_parametrization(net.first, "weight", torch.nn.ReLU()); torch.nn.utils.parametrize.remove_parametrizations(net.first, "weight"); [list(net.first.state_dict()), type(net.first).__name__, isinstance(net.first.weight, torch.nn.Parameter)]
    torch.nn.utils.parametrize.register_parametrization(net.first, "weight", torch.nn.Flatten(0, 1), unsafe=True); [net.first.weight.shape, error(lambda: torch.nn.utils.parametrize.register_parametrization(net.first, "bias", torch.nn.Unflatten(0, (3, 1))))]
    [error(lambda: torch.nn.utils.parametrize.register_parametrization(net.first, "nothing", torch.nn.ReLU())), error(lambda: torch.nn.utils.parametrize.remove_parametrizations(net.first, "weight")), error(lambda: torch.nn.utils.parametrize.ParametrizationList([], net.scale))]
    l = torch.nn.utils.parametrizations.weight_norm(net.first); y = l(x); y.sum().backward(); [list(l.state_dict()), y, l.parametrizations.weight.original0.grad, l.parametrizations.weight.original1.grad]
    l = torch.nn.utils.parametrizations.weight_norm(net.first); l.weight = torch.ones(3, 2); [l.weight, l.parametrizations.weight.original0.detach()]
    l = torch.nn.utils.parametrizations.weight_norm(net.first, dim=None); l.load_state_dict({"bias": torch.ones(3), "weight_g": torch.tensor(2.0), "weight_v": torch.ones(3, 2)}); l.weight
    with torch.nn.utils.parametrize.cached(): y = torch.nn.utils.parametrizations.weight_norm(net.first).weight is net.first.weight
    l = torch.nn.utils.weight_norm(net.first); y = l(x); y.sum().backward(); [list(l.state_dict()), y, l.weight_g.grad, l.weight_v.grad, list(torch.nn.utils.remove_weight_norm(l).state_dict()), l(x), error(lambda: torch.nn.utils.remove_weight_norm(l))]
    l = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3)); w = l.weight; [torch.allclose(w @ w.T, torch.eye(3), atol=1e-5), list(l.state_dict())]
    l = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 2), orthogonal_map="cayley"); w = l.weight; [torch.allclose(w @ w.T, torch.eye(2), atol=1e-5), list(l.state_dict())]
    l = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 2), use_trivialization=False); w = l.weight; [torch.allclose(w @ w.T, torch.eye(2), atol=1e-5), list(l.state_dict())]
    l = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3)); l.weight = torch.eye(3); torch.allclose(l.weight, torch.eye(3), atol=1e-6)
    l = torch.nn.Linear(3, 3); torch.nn.init.eye_(l.weight); torch.nn.utils.parametrizations.spectral_norm(l, n_power_iterations=5); [torch.allclose(l.weight, torch.eye(3), atol=1e-5), list(l.state_dict())]
    l = torch.nn.Linear(3, 3); torch.nn.init.eye_(l.weight); l = torch.nn.utils.spectral_norm(l); l(torch.ones(1, 3)); [torch.allclose(l.weight, torch.eye(3), atol=1e-5), list(l.state_dict()), list(torch.nn.utils.remove_spectral_norm(l).state_dict())]
    # clipping, vectors, pruning, fusion
    net(x).sum().backward(); n = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5); [n, [p.grad for p in net.parameters()]]
    net(x).sum().backward(); n = torch.nn.utils.clip_grad_norm_(net.scale, 0.5, norm_type=math.inf); [n, net.scale.grad]
    net(x).sum().backward(); torch.nn.utils.clip_grad_value_(net.parameters(), 0.1); [p.grad for p in net.parameters()]
    net.scale.grad = torch.full((2,), math.inf); error(lambda: torch.nn.utils.clip_grad_norm_(net.scale, 1.0, error_if_nonfinite=True))
    [torch.nn.utils.get_total_norm([torch.ones(2), torch.ones(3)], 1), torch.nn.utils.clip_grad_norm_([], 1.0)]
    v = torch.nn.utils.parameters_to_vector(net.parameters()); torch.nn.utils.vector_to_parameters(v * 2, net.parameters()); [v.detach(), net.scale.detach()]
    l = torch.nn.utils.prune.l1_unstructured(net.first, "weight", 2); l(x).sum().backward(); [list(l.state_dict()), l.weight.detach(), l.weight_orig.grad, torch.nn.utils.prune.is_pruned(net)]
    l = torch.nn.utils.prune.l1_unstructured(net.first, "weight", 0.34); torch.nn.utils.prune.ln_structured(l, "weight", 1, 2, 0); torch.nn.utils.prune.remove(l, "weight"); [l.weight.detach(), list(l.state_dict()), torch.nn.utils.prune.is_pruned(net)]
    l = torch.nn.utils.prune.l1_unstructured(net.first, "weight", 2); torch.nn.utils.prune.l1_unstructured(l, "weight", 2); [l.weight_mask, len(l._forward_pre_hooks), len(list(l._forward_pre_hooks.values())[0])]
    torch.nn.utils.prune.global_unstructured([(net.first, "weight"), (net.rest[0], "weight")], torch.nn.utils.prune.L1Unstructured, amount=5); [net.first.weight.detach(), net.rest[0].weight.detach()]
    l = torch.nn.utils.prune.custom_from_mask(net.first, "bias", torch.tensor([0, 1, 0])); [l.bias.detach(), copy.deepcopy(net)(x).shape]
    [error(lambda: torch.nn.utils.prune.l1_unstructured(net.first, "weight", a)) for a in (1.5, -1, 99, "x")]
    c, b = torch.nn.Conv2d(1, 2, 2).eval(), torch.nn.BatchNorm2d(2).eval(); b.running_mean += 1; y = torch.ones(1, 1, 3, 3); torch.allclose(torch.nn.utils.fuse_conv_bn_eval(c, b)(y), b(c(y)), atol=1e-6)
    error(lambda: torch.nn.utils.fuse_conv_bn_eval(torch.nn.Conv2d(1, 2, 2), torch.nn.BatchNorm2d(2)))
    [repr(torch.nn.utils.skip_init(torch.nn.Linear, 2, 3)), error(lambda: torch.nn.utils.skip_init(3)), error(lambda: torch.nn.utils.skip_init(torch.nn.ReLU))]
    # functional calls
    torch.func.functional_call(net, {"scale": torch.zeros(2), "first.bias": torch.zeros(3)}, (x,))
    y = torch.func.functional_call(net, [{"scale": torch.zeros(2)}, {"seen": torch.ones(1)}], (x,), {"factor": 2}); [y, net.scale.detach(), net.seen]
    error(lambda: torch.func.functional_call(net, {"scale": torch.zeros(2)}, (x,), strict=True))
    error(lambda: torch.func.functional_call(net, {"scale": torch.zeros(3)}, (x,))); net.scale.detach()
    g = torch.func.grad(lambda p: torch.func.functional_call(net.first, p, (x,)).sum())(dict(net.first.named_parameters())); [list(g), [v for v in g.values()]]
    p, b = torch.func.stack_module_state([net, copy.deepcopy(net)]); [list(p), list(b), [v.shape for v in p.values()], [v.requires_grad for v in p.values()], [v.shape for v in b.values()]]
    net = torch.func.replace_all_batch_norm_modules_(net); [repr(net), net.rest[1].running_mean is None]
    torch.vmap(lambda w: torch.func.functional_call(net.first, {"weight": w}, (x,)))(torch.ones(4, 3, 2)).shape
    # packed sequences
    p = torch.nn.utils.rnn.pack_sequence([torch.ones(2, 2), torch.ones(3, 2) * 2], enforce_sorted=False); [p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices, [t for t in torch.nn.utils.rnn.unpack_sequence(p)], torch.nn.utils.rnn.pad_packed_sequence(p, True, -1.0, 5)]
    [torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], f, 7.0, s) for f in (True, False) for s in ("left", "right")]
    [error(lambda: torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), l)) for l in ([1, 2], [3, 0], [3], [[3, 2]])]
    p = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1, requires_grad=True), [3, 1]); p.double().data.dtype
    error(lambda: torch.nn.utils.rnn.pad_packed_sequence(torch.nn.utils.rnn.pack_sequence([torch.ones(3, 1)]), total_length=2))
""")


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_on_modules_gives_what_pytorch_gives(program: str) -> None:
    same(NET + program)


def test_a_module_goes_through_pickle_whole() -> None:
    net = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.BatchNorm1d(3), dt.nn.LazyLinear(2))
    x = dt.rand(4, 2)
    before = net.eval()(x)
    again = pickle.loads(pickle.dumps(net))
    assert dt.equal(again(x), before) and repr(again) == repr(net) and not again.training


def test_a_copy_that_was_pickled_before_a_hook_existed_gets_its_place() -> None:
    layer = dt.nn.Linear(1, 1)
    state = layer.__getstate__()
    del state["_forward_hooks_always_called"]
    old = dt.nn.Linear.__new__(dt.nn.Linear)
    old.__setstate__(state)
    old.register_forward_hook(lambda m, a, o: o * 0, always_call=True)
    assert old(dt.ones(1)).item() == 0


def test_what_was_half_loaded_says_all_that_is_wrong_at_once() -> None:
    net = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.Linear(3, 1))
    state = net.state_dict()
    state["0.weight"] = dt.ones(5)
    state["odd"] = state.pop("1.bias")
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    words = str(caught.value)
    assert "Error(s) in loading state_dict for Sequential:" in words
    assert 'Missing key(s) in state_dict: "1.bias".' in words and 'Unexpected key(s) in state_dict: "odd".' in words
    assert "size mismatch for 0.weight: copying a param with shape dualtape.Size([5])" in words


def test_a_module_that_forgot_to_call_super_says_so() -> None:
    class Forgetful(dt.nn.Module):
        def __init__(self) -> None:
            pass

    with pytest.raises(AttributeError, match="super"):
        Forgetful()(1)


def test_a_compiled_module_computes_the_same_and_is_pickled_without_its_program() -> None:
    net = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.Tanh())
    x = dt.rand(4, 2)
    before = net(x).detach()
    net.compile()
    for _ in range(3):
        assert dt.allclose(net(x), before)
    assert "_compiled_call_impl" not in pickle.loads(pickle.dumps(net)).__dict__


def test_a_hook_that_is_called_always_and_fails_too_is_a_warning() -> None:
    layer = dt.nn.Linear(1, 1)
    layer.register_forward_hook(lambda m, a, o: 1 / 0, always_call=True)
    with warnings.catch_warnings(record=True) as seen, pytest.raises(TypeError):
        warnings.simplefilter("always")
        layer(1, 2, 3)
    assert any("was silenced" in str(w.message) for w in seen)


def test_paths_that_libraries_import_are_there() -> None:
    from dualtape.nn.modules.batchnorm import _BatchNorm, _NormBase
    from dualtape.nn.modules.conv import _ConvNd, _ConvTransposeNd
    from dualtape.nn.modules.dropout import _DropoutNd
    from dualtape.nn.modules.instancenorm import _InstanceNorm
    from dualtape.nn.modules.loss import _Loss, _WeightedLoss
    from dualtape.nn.modules.module import _IncompatibleKeys
    from dualtape.nn.modules.pooling import _AdaptiveAvgPoolNd, _MaxPoolNd
    from dualtape.nn.modules.utils import _ntuple, _pair, _single, _triple
    from dualtape.utils.hooks import RemovableHandle

    assert issubclass(dt.nn.BatchNorm2d, _BatchNorm) and issubclass(_BatchNorm, _NormBase)
    assert issubclass(dt.nn.Conv2d, _ConvNd) and issubclass(dt.nn.ConvTranspose2d, _ConvTransposeNd)
    assert issubclass(dt.nn.Dropout, _DropoutNd) and issubclass(dt.nn.InstanceNorm1d, _InstanceNorm)
    assert issubclass(dt.nn.NLLLoss, _WeightedLoss) and issubclass(dt.nn.L1Loss, _Loss)
    assert issubclass(dt.nn.MaxPool2d, _MaxPoolNd) and issubclass(dt.nn.AdaptiveAvgPool2d, _AdaptiveAvgPoolNd)
    assert (_single(1), _pair(2), _triple((1, 2, 3)), _ntuple(4)(0)) == ((1,), (2, 2), (1, 2, 3), (0, 0, 0, 0))
    assert isinstance(dt.nn.Linear(1, 1).load_state_dict(dt.nn.Linear(1, 1).state_dict()), _IncompatibleKeys)
    assert isinstance(dt.nn.Linear(1, 1).register_forward_hook(print), RemovableHandle)


# --- where it is not as in PyTorch ------------------------------------------------------------------


def test_assigning_a_state_leaves_the_metadata_of_the_given_one_alone() -> None:
    state = dt.nn.Linear(1, 1).state_dict()
    dt.nn.Linear(1, 1).load_state_dict(state, assign=True)
    assert state._metadata == {"": {"version": 1}}


def test_a_dict_of_parameters_that_refuses_a_name_is_as_it_was() -> None:
    held = dt.nn.ParameterDict({"a": dt.ones(1)})
    for name in (3, "keys"):
        with pytest.raises((TypeError, KeyError)):
            held[name] = dt.ones(1)
    assert list(held) == ["a"]


def test_an_uninitialised_parameter_says_what_to_do_whatever_is_asked_of_it() -> None:
    weight = dt.nn.LazyLinear(2).weight
    for use in (lambda: weight + 1, lambda: weight.shape, lambda: weight[0], lambda: dt.matmul(weight, weight)):
        for kind in (RuntimeError, ValueError):
            with pytest.raises(kind, match="uninitialized.*forward"):
                use()


def test_attention_layers_say_what_takes_ragged_batches() -> None:
    x = dt.nested.nested_tensor([dt.rand(2, 4), dt.rand(3, 4)], layout=dt.jagged)
    with pytest.raises(AssertionError, match="scaled_dot_product_attention"):
        dt.nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)


def test_memory_is_not_shared_among_processes() -> None:
    with pytest.raises(NotImplementedError):
        dt.nn.Linear(1, 1).share_memory()


def test_data_parallel_in_one_process_is_the_module_itself():
    inner = dt.nn.Linear(2, 1)
    outer = dt.nn.parallel.DataParallel(inner)
    assert outer.module is inner and list(outer.state_dict()) == ["module.weight", "module.bias"]
    assert dt.equal(outer(dt.ones(3, 2)), inner(dt.ones(3, 2)))
    with pytest.raises(NotImplementedError, match="DistributedDataParallel"):
        dt.nn.parallel.DataParallel(inner, device_ids=[0, 1])


_loaded: list[Any] = []


def _note(module: Any, *rest: Any) -> None:
    _loaded.append(module)


def test_a_hook_before_loading_gets_the_module_that_loads_also_in_copies() -> None:
    layer = dt.nn.Linear(2, 2)
    layer.register_load_state_dict_pre_hook(_note)
    for each in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        _loaded.clear()
        each.load_state_dict(layer.state_dict())
        assert len(_loaded) == 1 and _loaded[0] is each
    (hook,) = layer._load_state_dict_pre_hooks.values()
    del layer
    gc.collect()
    with pytest.raises(RuntimeError, match="a module that is gone"):
        hook({})
