"""Programs that make a small network, and what they all begin with, for the tests that train them."""

from __future__ import annotations

SETUP = """
nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)
def data(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))
def weights(module):
    module.double()
    for k, p in enumerate(module.parameters()):
        p.data = data(*p.shape, seed=k) * 0.4
    return module
def train(module, loss, lr=0.05, steps=10):
    losses = []
    for _ in range(steps):
        module.zero_grad()
        value = loss()
        value.backward()
        with torch.no_grad():
            for p in module.parameters():
                p -= lr * p.grad
        losses.append(value.item())
    return losses
"""

NETWORKS = {
    "a perceptron": """
net = weights(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)))
x, y = data(7, 5), torch.tensor([0, 1, 2, 0, 1, 2, 0])
train(net, lambda: nn.CrossEntropyLoss()(net(x), y))
""",
    "convolutions with batch norm": """
net = weights(nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3)))
x, y = data(5, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1])
losses = train(net, lambda: nn.CrossEntropyLoss(label_smoothing=0.1)(net(x), y))
net.eval()
[losses, net(x).detach(), net[1].running_mean, net[1].num_batches_tracked]
""",
    "a long short-term memory": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.lstm, self.out = nn.Embedding(9, 4), nn.LSTM(4, 5, 2, batch_first=True), nn.Linear(5, 1)
    def forward(self, x):
        return self.out(self.lstm(self.table(x))[0][:, -1])
net = weights(Net())
x, y = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [0, 1, 0, 1]]), data(3, 1)
train(net, lambda: nn.MSELoss()(net(x), y))
""",
    "a gated one, both ways, of packed sequences": """
net = weights(nn.GRU(3, 4, 2, bidirectional=True))
parts = [data(n, 3, seed=n) for n in (5, 2, 4)]
packed = nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
def loss():
    out, last = net(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    return padded.pow(2).sum() + last.sin().sum()
train(net, loss, lr=0.01)
""",
    "a transformer encoder": """
layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=True)
net = weights(nn.Sequential(nn.TransformerEncoder(layer, 2, nn.LayerNorm(8)), nn.Linear(8, 1)))
x, y = data(3, 5, 8), data(3, 5, 1, seed=9)
train(net, lambda: nn.HuberLoss()(net(x), y))
""",
    "a transformer with masks": """
net = weights(nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True))
src, tgt = data(2, 5, 8), data(2, 4, 8, seed=3)
pad = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
mask = net.generate_square_subsequent_mask(4, dtype=torch.float64)
train(net, lambda: net(src, tgt, tgt_mask=mask, src_key_padding_mask=pad, memory_key_padding_mask=pad).pow(2).mean())
""",
    "attention over ragged batches": """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))
    def heads(self, x):
        return x.unflatten(-1, (2, 4)).transpose(1, 2)
    def forward(self, x):
        q, k, v = (self.heads(layer(x)) for layer in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))
net = weights(Attention())
x = torch.nested.nested_tensor([data(n, 8, seed=n) for n in (3, 5, 2)], layout=torch.jagged)
train(net, lambda: net(x).values().pow(2).mean())
""",
    "weights of norm one, and a spectral norm": """
net = weights(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)))
nn.utils.parametrizations.weight_norm(net[0])
x, y = data(5, 4), data(5, 2, seed=4)
train(net, lambda: nn.MSELoss()(net(x), y))
""",
    "frozen layers, clipped gradients": """
net = weights(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)))
x, y = data(5, 4), data(5, 2, seed=4)
def loss():
    value = nn.L1Loss()(net(x), y)
    value.backward(retain_graph=True)
    nn.utils.clip_grad_norm_(net.parameters(), 0.01)
    return value
train(net, loss)
""",
}
