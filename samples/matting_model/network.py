"""The network: an encoder and decoder with skip connections, 256 x 256 RGB to alpha."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

SIZE = 256  # pixels of the exported input; a multiple of 32
MEAN, STD = (0.5, 0.5, 0.5), (1.0, 1.0, 1.0)  # of RGB in 0..1


def conv(inside: int, outside: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Returns a convolution with batch normalisation and ReLU."""
    core = nn.Conv2d(inside, outside, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(core, nn.BatchNorm2d(outside), nn.ReLU(inplace=True))


class Dense(nn.Module):
    """A residual block of two full 3 x 3 convolutions, for the levels of few channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        last = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.body = nn.Sequential(conv(width, width), last, nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        """Takes and returns (N, C, H, W)."""
        return torch.relu(x + self.body(x))


class Separable(nn.Module):
    """An inverted residual block: expansion, depthwise 5 x 5, squeeze and excitation, projection."""

    def __init__(self, width: int, expand: int = 2) -> None:
        super().__init__()
        inner = expand * width
        self.wide = nn.Sequential(conv(width, inner, 1), conv(inner, inner, 5, groups=inner))
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(inner, width // 4, 1),
            nn.ReLU(),
            nn.Conv2d(width // 4, inner, 1),
        )
        self.narrow = nn.Sequential(nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        """Takes and returns (N, C, H, W)."""
        wide = self.wide(x)
        return x + self.narrow(wide * torch.sigmoid(self.squeeze(wide)))


class Merge(nn.Module):
    """A decoder step: enlarges the deeper level two times and joins the encoder's level of that size."""

    def __init__(self, deep: int, skip: int, outside: int) -> None:
        super().__init__()
        self.deep, self.skip = conv(deep, outside, 1), conv(skip, outside, 1)
        self.body = conv(outside, outside)

    def forward(self, deep: Tensor, skip: Tensor) -> Tensor:
        """Takes (N, deep, H/2, W/2) and (N, skip, H, W), and returns (N, outside, H, W)."""
        return self.body(doubled(self.deep(deep)) + self.skip(skip))


def doubled(x: Tensor) -> Tensor:
    """Returns the feature map enlarged two times, bilinearly."""
    return functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)


class MattingNetwork(nn.Module):
    """Predicts the opacity of the foreground of every pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.level1 = nn.Sequential(conv(3, 16, stride=2), conv(16, 16))
        self.level2 = nn.Sequential(conv(16, 32, stride=2), Dense(32))
        self.level3 = nn.Sequential(conv(32, 64, stride=2), Dense(64), Dense(64))
        self.level4 = nn.Sequential(conv(64, 128, stride=2), *(Separable(128) for _ in range(3)))
        self.level5 = nn.Sequential(conv(128, 160, stride=2), *(Separable(160) for _ in range(2)))
        self.merge4, self.merge3 = Merge(160, 128, 96), Merge(96, 64, 64)
        self.merge2, self.merge1 = Merge(64, 32, 32), Merge(32, 16, 16)
        self.coarse = nn.Conv2d(64, 1, 1)
        self.shrunk, self.fine = conv(16, 8, 1), conv(11, 12)
        self.out = nn.Conv2d(12, 1, 3, padding=1)

    def logits(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Takes (N, 3, H, W), and returns logits of alpha at full size and at an eighth of it."""
        one = self.level1(x)
        two = self.level2(one)
        three = self.level3(two)
        four = self.level4(three)
        middle = self.merge3(self.merge4(self.level5(four), four), three)
        last = self.merge1(self.merge2(middle, two), one)
        full = torch.cat([doubled(self.shrunk(last)), x], 1)
        return self.out(self.fine(full)), self.coarse(middle)

    def forward(self, x: Tensor) -> Tensor:
        """Takes normalised RGB of shape (N, 3, H, W), and returns alpha of shape (N, 1, H, W) in 0..1."""
        return torch.sigmoid(self.logits(x)[0])


def normalised(rgb: Tensor) -> Tensor:
    """Returns the network's input for bytes of shape (N, H, W, 3)."""
    mean, std = torch.tensor(MEAN), torch.tensor(STD)
    return (
        ((rgb.float() / 255 - mean) / std).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    )


def matting_loss(full: Tensor, coarse: Tensor, alpha: Tensor) -> Tensor:
    """Returns the loss of logits against true alpha (N, 1, H, W): BCE, IoU, and alpha's gradients."""
    entropy = functional.binary_cross_entropy_with_logits
    small = functional.interpolate(alpha, coarse.shape[2:], mode="area")
    return (
        entropy(full, alpha)
        + overlap_loss(full, alpha)
        + gradient_loss(full, alpha)
        + 0.5 * (entropy(coarse, small) + overlap_loss(coarse, small))
    )


def overlap_loss(logits: Tensor, alpha: Tensor) -> Tensor:
    """Returns one minus the soft intersection over union, averaged over pictures."""
    found = torch.sigmoid(logits)
    both = torch.minimum(found, alpha).sum((1, 2, 3))
    return 1 - ((both + 1) / (torch.maximum(found, alpha).sum((1, 2, 3)) + 1)).mean()


def gradient_loss(logits: Tensor, alpha: Tensor) -> Tensor:
    """Returns the mean absolute difference of the gradients of alpha, weighted as they are rare."""
    wrong = torch.sigmoid(logits) - alpha
    return 5 * (wrong.diff(dim=2).abs().mean() + wrong.diff(dim=3).abs().mean())
