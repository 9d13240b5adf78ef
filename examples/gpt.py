"""A GPT in a hundred lines, trained on five of Shakespeare's sonnets (``sonnets.txt``), letter by letter.

Embeddings, causal attention, residual blocks, AdamW, sampling: all the parts, small. In a few seconds it learns words
and the length of lines; the loss of a model that knows the frequencies of letters alone is printed beside it.
"""

from pathlib import Path

import dualtape as dt
from dualtape import nn
from dualtape.nn import functional as F

dt.manual_seed(0)
CONTEXT, WIDTH, HEADS, BLOCKS = 32, 48, 4, 2

text = (Path(__file__).parent / "sonnets.txt").read_text(encoding="utf-8")
letters = sorted(set(text))
codes = dt.tensor([letters.index(letter) for letter in text])


class Attention(nn.Module):
    """Each letter looks at those before it."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.qkv(x).reshape(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.between = nn.LayerNorm(WIDTH)
        self.think = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.think(self.between(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.letter = nn.Embedding(len(letters), WIDTH)
        self.place = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)), nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, len(letters), bias=False)

    def forward(self, codes):
        x = self.letter(codes) + self.place(dt.arange(codes.shape[1]))
        return self.head(self.blocks(x))

    @dt.no_grad()
    def write(self, beginning, count, temperature=0.6):
        """``count`` more letters, each drawn from what the model thinks comes next."""
        written = [letters.index(letter) for letter in beginning]
        for _ in range(count):
            scores = self(dt.tensor([written[-CONTEXT:]]))[0, -1]
            written.append(dt.multinomial((scores / temperature).softmax(0), 1).item())
        return "".join(letters[code] for code in written)


model = GPT()
optimizer = dt.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
windows = codes.unfold(0, CONTEXT + 1, 1)
STEPS = 140
schedule = dt.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=6e-3, total_steps=STEPS)

shares = dt.bincount(codes) / len(codes)
baseline = -(shares * shares.log()).sum().item()
print(f"{sum(p.numel() for p in model.parameters())} weights; letters' frequencies alone: {baseline:.2f} nats a letter")
for step in range(STEPS):
    batch = windows[dt.randint(0, len(windows), (12,))]
    loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 50 == 0 or step == STEPS - 1:
        print(f"step {step:3}  loss {loss.item():.2f}")

print("\n" + model.write("Shall I ", 160))
assert loss.item() < baseline - 0.6
