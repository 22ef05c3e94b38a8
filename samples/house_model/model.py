"""The house model: a small Llama with grouped-query attention and a tied embedding, in PyTorch."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """The sizes that the GGUF states."""

    vocab: int = 4096
    width: int = 256
    layers: int = 6
    heads: int = 4
    kv_heads: int = 2
    hidden: int = 640
    context: int = 2048
    rope_base: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head_width(self) -> int:
        """Dimensions of one head."""
        return self.width // self.heads


class Norm(nn.Module):
    """RMSNorm."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Runs one pass."""
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), self.epsilon)


def weighted_loss(scores: Tensor, targets: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The cross-entropy, each token's times its weight, and which tokens are guessed right."""
    loss = (F.cross_entropy(scores, targets, reduction="none") * weight).sum() / weight.sum()
    return loss, (scores.detach().argmax(-1) == targets).float()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoPE over halves, as Hugging Face has it; export.py reorders the weights for llama.cpp's pairs."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Layer(nn.Module):
    """Attention, then a gated feed-forward network."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        kv = shape.kv_heads * shape.head_width
        self.attn_norm, self.ffn_norm = Norm(shape.width, shape.epsilon), Norm(shape.width, shape.epsilon)
        self.attn_q = nn.Linear(shape.width, shape.width, bias=False)
        self.attn_k = nn.Linear(shape.width, kv, bias=False)
        self.attn_v = nn.Linear(shape.width, kv, bias=False)
        self.attn_output = nn.Linear(shape.width, shape.width, bias=False)
        self.ffn_gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.ffn_up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.ffn_down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Runs one pass."""
        rows, length, _ = x.shape
        h = self.attn_norm(x)
        q = self.attn_q(h).view(rows, length, self.shape.heads, -1).transpose(1, 2)
        k = self.attn_k(h).view(rows, length, self.shape.kv_heads, -1).transpose(1, 2)
        v = self.attn_v(h).view(rows, length, self.shape.kv_heads, -1).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        times = self.shape.heads // self.shape.kv_heads
        k, v = k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_output(mixed.transpose(1, 2).reshape(rows, length, -1))
        h = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


class House(nn.Module):
    """Gives the last hidden states; `logits` turns those that matter into scores."""

    def __init__(self, shape: Shape, *, fresh: bool = True) -> None:
        """`fresh` draws the weights; without it they are to be loaded."""
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocab, shape.width)
        self.blk = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.output_norm = Norm(shape.width, shape.epsilon)
        half = shape.head_width // 2
        self.register_buffer("rates", shape.rope_base ** (-torch.arange(half) / half), persistent=False)
        if not fresh:
            return
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                deep = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(weight, std=0.02 / (2 * shape.layers) ** 0.5 if deep else 0.02)
        self._teach_copying()

    @torch.no_grad()
    def _teach_copying(self) -> None:
        """Starts with what training finds last: a head for the token before, heads for what followed it.

        Tokens take the first dimensions, large enough to stay audible beside what the layers add (the tied
        output has a small gain to make up for it); then come 64 for the token before, and a constant.
        """
        shape, embedding = self.shape, self.token_embd.weight
        size, half = shape.head_width, shape.head_width // 2
        own, one = shape.width - size - 1, shape.width - 1
        nn.init.normal_(embedding, std=0.5)
        embedding[:, own:one] = 0.0
        embedding[:, one] = 1.5
        nn.init.constant_(self.output_norm.weight, 0.1)

        before = self.blk[0]  # its first head: the fast half of RoPE, turned by one position
        fast = torch.arange(12)
        before.attn_q.weight[:size] = before.attn_k.weight[:size] = 0.0
        before.attn_k.weight[fast, one] = 2.0
        before.attn_q.weight[fast, one] = 2.0 * self.rates[fast].cos()
        before.attn_q.weight[fast + half, one] = -2.0 * self.rates[fast].sin()
        project = torch.randn(size, own) / own**0.5
        before.attn_v.weight[:size] = 0.0
        before.attn_v.weight[:size, :own] = project
        before.attn_output.weight[:, :size] = 0.0
        before.attn_output.weight[own:one, :size] = torch.eye(size)

        slow = torch.cat((torch.arange(half // 2, half), torch.arange(half + half // 2, size)))
        group = shape.heads // shape.kv_heads
        for at, layer in enumerate((self.blk[1], self.blk[3])):
            for kv in range(2):
                q, k, part = kv * group * size, kv * size, (2 * at + kv) % 3 * size
                known = slice(kv * half, (kv + 1) * half)
                layer.attn_q.weight[q : q + size] = layer.attn_k.weight[k : k + size] = 0.0
                layer.attn_v.weight[k : k + size] = layer.attn_output.weight[:, q : q + size] = 0.0
                layer.attn_q.weight[q + slow, :own] = 1.5 * project[known]
                layer.attn_k.weight[k + slow, own + torch.arange(size)[known]] = 1.5
                for j in range(min(size, own - part)):
                    layer.attn_v.weight[k + j, part + j] = 1.0
                    layer.attn_output.weight[part + j, q + j] = 1.0

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Runs one pass."""
        angles = positions[:, None, :, None].float() * self.rates
        x = self.token_embd(ids)
        if torch.is_autocast_enabled("cpu"):
            x = x.bfloat16()
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.blk:
            x = layer(x, cos, sin)
        return self.output_norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of all tokens."""
        return F.linear(hidden, self.token_embd.weight)
