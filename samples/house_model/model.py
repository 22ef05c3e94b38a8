"""The house model: a small Llama with grouped-query attention and a tied embedding, in PyTorch."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """The sizes that the GGUF states."""

    vocab: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    hidden: int
    context: int
    rope_base: float
    epsilon: float

    @property
    def head_width(self) -> int:
        """Dimensions of one head."""
        return self.width // self.heads


def rounded(weight: Tensor, steps: int) -> Tensor:
    """What ggml's Q4_0 (`steps` 16) and Q5_0 (32) make of a matrix; gradients pass as if it were the matrix.

    Training with it is quantization-aware (Jacob et al. 2018): the loss is that of the rounded weights.
    """
    blocks = weight.detach().reshape(-1, 32)
    largest = blocks.gather(1, blocks.abs().argmax(1, keepdim=True))
    unit = (largest / -(steps // 2)).half().float()
    levels = (blocks / unit.where(unit != 0, 1.0) + steps // 2 + 0.5).floor().clamp(0, steps - 1)
    return weight + ((levels - steps // 2) * unit).view_as(weight) - weight.detach()


class Matrix(nn.Linear):
    """A linear layer without a bias, as the file will hold it where `is_rounded`."""

    is_rounded = False

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Runs one pass."""
        return F.linear(x, rounded(self.weight, 16) if self.is_rounded else self.weight)


class Embedding(nn.Embedding):
    """One vector for each token, as the file will hold it where `is_rounded`."""

    is_rounded = False

    def read(self) -> Tensor:
        """The vectors."""
        return rounded(self.weight, 32) if self.is_rounded else self.weight

    def forward(self, ids: Tensor) -> Tensor:
        """Runs one pass."""
        return F.embedding(ids, self.read())


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

    dropout = 0.0  # of what each adds, in training (Srivastava et al. 2014)

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        kv = shape.kv_heads * shape.head_width
        self.attn_norm, self.ffn_norm = Norm(shape.width, shape.epsilon), Norm(shape.width, shape.epsilon)
        self.attn_q = Matrix(shape.width, shape.width)
        self.attn_k = Matrix(shape.width, kv)
        self.attn_v = Matrix(shape.width, kv)
        self.attn_output = Matrix(shape.width, shape.width)
        self.ffn_gate = Matrix(shape.width, shape.hidden)
        self.ffn_up = Matrix(shape.width, shape.hidden)
        self.ffn_down = Matrix(shape.hidden, shape.width)

    def attend(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """What attention adds."""
        rows, length, _ = x.shape
        h = self.attn_norm(x)
        q = self.attn_q(h).view(rows, length, self.shape.heads, -1).transpose(1, 2)
        k = self.attn_k(h).view(rows, length, self.shape.kv_heads, -1).transpose(1, 2)
        v = self.attn_v(h).view(rows, length, self.shape.kv_heads, -1).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        times = self.shape.heads // self.shape.kv_heads
        k, v = k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.attn_output(mixed.transpose(1, 2).reshape(rows, length, -1))

    def neurons(self, x: Tensor) -> Tensor:
        """What goes into the last matrix of the feed-forward network."""
        h = self.ffn_norm(x)
        return F.silu(self.ffn_gate(h)) * self.ffn_up(h)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Runs one pass."""
        x = x + F.dropout(self.attend(x, cos, sin), self.dropout, self.training)
        return x + F.dropout(self.ffn_down(self.neurons(x)), self.dropout, self.training)


class House(nn.Module):
    """Gives the last hidden states; `logits` turns those that matter into scores."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.token_embd = Embedding(shape.vocab, shape.width)
        self.blk = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.output_norm = Norm(shape.width, shape.epsilon)
        half = shape.head_width // 2
        self.register_buffer("rates", shape.rope_base ** (-torch.arange(half) / half), persistent=False)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Runs one pass."""
        angles = positions[:, None, :, None].float() * self.rates
        x = self.token_embd(ids)
        if torch.is_autocast_enabled(x.device.type):
            x = x.bfloat16()
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.blk:
            x = layer(x, cos, sin)
        return self.output_norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of all tokens."""
        return F.linear(hidden, self.token_embd.read())
