"""A renderer without a window: 60 frames a second, while models compute on its card or nobody does."""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vulkan"))
from machine_card import Missing
from renderer import Renderer  # needs the path above

import vulkan as vk  # needs a Vulkan loader

PERIOD_S, WORK_S = 1 / 60, 0.008  # of a frame; how long the card draws on it
SIZE = 1024  # of the picture, in pixels each way
MODES = ("balance", "prioritize_graphics", "prioritize_compute")
STREAMS = 4


class Drawing(Renderer):
    """Clears a picture so often that a frame takes the card as long as is wanted."""

    def __init__(self, vendor: int = 0) -> None:
        super().__init__(vendor)
        self._picture()
        self._fence = vk.vkCreateFence(self.device, vk.VkFenceCreateInfo(), None)
        self._pool = vk.vkCreateCommandPool(
            self.device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=self.family), None
        )
        self._commands: Any = self._recorded(1)

    def _picture(self) -> None:
        self._image = vk.vkCreateImage(
            self.device,
            vk.VkImageCreateInfo(
                imageType=vk.VK_IMAGE_TYPE_2D,
                format=vk.VK_FORMAT_R8G8B8A8_UNORM,
                extent=vk.VkExtent3D(SIZE, SIZE, 1),
                mipLevels=1,
                arrayLayers=1,
                samples=vk.VK_SAMPLE_COUNT_1_BIT,
                usage=vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT,
            ),
            None,
        )
        needs = vk.vkGetImageMemoryRequirements(self.device, self._image)
        kinds = vk.vkGetPhysicalDeviceMemoryProperties(self.physical_device)
        own = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
        fits = (
            at
            for at in range(kinds.memoryTypeCount)
            if needs.memoryTypeBits >> at & 1 and kinds.memoryTypes[at].propertyFlags & own
        )
        allocation = vk.VkMemoryAllocateInfo(allocationSize=needs.size, memoryTypeIndex=next(fits))
        self._memory = vk.vkAllocateMemory(self.device, allocation, None)
        vk.vkBindImageMemory(self.device, self._image, self._memory, 0)

    def _recorded(self, clears: int) -> Any:
        """Commands that clear the picture so often, one after the other."""
        (commands,) = vk.vkAllocateCommandBuffers(
            self.device, vk.VkCommandBufferAllocateInfo(commandPool=self._pool, commandBufferCount=1)
        )
        whole = vk.VkImageSubresourceRange(vk.VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1)
        layout, write = vk.VK_IMAGE_LAYOUT_GENERAL, vk.VK_ACCESS_TRANSFER_WRITE_BIT
        turn = vk.VkImageMemoryBarrier(
            srcAccessMask=write,
            dstAccessMask=write,
            oldLayout=vk.VK_IMAGE_LAYOUT_UNDEFINED,
            newLayout=layout,
            srcQueueFamilyIndex=vk.VK_QUEUE_FAMILY_IGNORED,
            dstQueueFamilyIndex=vk.VK_QUEUE_FAMILY_IGNORED,
            image=self._image,
            subresourceRange=whole,
        )
        colour = vk.VkClearColorValue(float32=[0.1, 0.2, 0.3, 1.0])
        stage = vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        for _ in range(clears):
            vk.vkCmdPipelineBarrier(commands, stage, stage, 0, 0, None, 0, None, 1, [turn])
            vk.vkCmdClearColorImage(commands, self._image, layout, colour, 1, [whole])
        vk.vkEndCommandBuffer(commands)
        return commands

    def draw(self) -> float:
        """One frame, to its end. Returns the seconds it took."""
        began = time.perf_counter()
        vk.vkQueueSubmit(self.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[self._commands])], self._fence)
        vk.vkWaitForFences(self.device, 1, [self._fence], vk.VK_TRUE, 10**10)
        vk.vkResetFences(self.device, 1, [self._fence])
        return time.perf_counter() - began

    def calibrate(self) -> int:
        """As many clears to a frame as take the card so long. Returns how many."""
        clears, took = 1, 0.0
        while took < WORK_S and clears < 100_000:
            clears *= 2
            self._commands = self._recorded(clears)
            took = statistics.median(self.draw() for _ in range(3))
        clears = max(1, round(clears * WORK_S / took))
        self._commands = self._recorded(clears)
        return clears

    def __exit__(self, *exception: Any) -> None:
        vk.vkDeviceWaitIdle(self.device)
        vk.vkDestroyCommandPool(self.device, self._pool, None)
        vk.vkDestroyFence(self.device, self._fence, None)
        vk.vkDestroyImage(self.device, self._image, None)
        vk.vkFreeMemory(self.device, self._memory, None)
        super().__exit__(*exception)


def played(drawing: Drawing, engine: Any, seconds: float) -> list[float]:
    """Frames on their time, as games draw them. Returns how long each took after its beginning was due."""
    frames, due, end = [], time.perf_counter(), time.perf_counter() + seconds
    while due < end:
        time.sleep(max(0.0, due - time.perf_counter()))
        if engine is not None:
            engine.frame_begin(period=PERIOD_S)
        drew = drawing.draw()
        if engine is not None:
            engine.frame_end(gpu=drew)
        frames.append(time.perf_counter() - due)
        late = int(frames[-1] / PERIOD_S)  # one that misses a vsync lets it pass
        due += PERIOD_S * (1 + late)
    return frames


def told(frames: list[float]) -> dict[str, Any]:
    """Of frames, in milliseconds."""
    ordered = sorted(1000 * frame for frame in frames)
    parts = {
        f"p{part}_ms": ordered[min(len(ordered) - 1, len(ordered) * part // 100)] for part in (50, 95, 99)
    }
    missed = sum(frame >= PERIOD_S for frame in frames)
    return {
        "frames": len(frames),
        "missed_pct": round(100 * missed / len(frames), 2),
        **{name: round(value, 2) for name, value in parts.items()},
    }


def speak(engine: Any, model: str, prompt: str, ends: threading.Event, counts: list[int]) -> None:
    """One character: asks again and again."""
    body = {"model": model, "prompt": prompt, "max_tokens": 128, "ignore_eos": True}
    while not ends.is_set():
        for chunk in engine.llm_text_completion_stream(json.dumps(body)):
            counts.append(len(chunk))
            if ends.is_set():
                break


def slices(trace: list[Any]) -> dict[str, Any]:
    """How long steps took, against what they were to keep within."""
    steps = [one for one in trace if one.kind in ("prompt", "decode")]
    limited = [(one.end_ns - one.begin_ns) / 1e6 / one.limit_ms for one in steps if one.limit_ms > 0]
    ordered = sorted(limited)
    return {
        "steps": len(steps),
        "limited": len(limited),
        "over_limit_pct": round(100 * sum(part > 1 for part in limited) / max(1, len(limited)), 2),
        "p95_of_limit": round(ordered[len(ordered) * 95 // 100], 3) if ordered else None,
    }


def drawing_on(vendor: int) -> Drawing:
    """On the first card of that vendor's. Raises Missing."""
    try:
        return Drawing(vendor)
    except (vk.VkError, StopIteration) as error:  # server cards come without
        raise Missing(f"no Vulkan driver has such a card ({error!r})") from error


def frames_in_modes(
    sotto: ModuleType, vendor: int, model: Any, seconds: float, least: str = "any"
) -> dict[str, Any]:
    """The renderer alone, and beside speaking characters in each mode, on the card that it hands over."""
    with drawing_on(vendor) as drawing:
        report: dict[str, Any] = {"clears": drawing.calibrate(), "needs": drawing.needs.reason}
        report["alone"] = told(played(drawing, None, seconds))
        for mode in MODES:
            with sotto.Engine("auto", mode=mode, trace_capacity=1 << 16) as engine:
                rung = engine.attach_gpu(drawing.handed, min_sharing=least)
                not_taken = engine.describe()["gpu"]["not_taken"]
                engine.load_model("m", path=str(model.path), options={"parallel": STREAMS})
                ends, counts = threading.Event(), []
                prompts = [" ".join(model.words[at : at + 100]) for at in range(0, 100 * STREAMS, 100)]
                speakers = [
                    threading.Thread(target=speak, args=(engine, "m", prompt, ends, counts))
                    for prompt in prompts
                ]
                for speaker in speakers:
                    speaker.start()
                time.sleep(min(2.0, seconds))
                engine.trace()  # what was begun before the game is not counted
                before, began = len(counts), time.perf_counter()
                frames = played(drawing, engine, seconds)
                pieces_per_s = (len(counts) - before) / (time.perf_counter() - began)
                steps = slices(engine.trace())
                ends.set()
                for speaker in speakers:
                    speaker.join()
                engine.detach_gpu()
            report[mode] = {
                "rung": rung,
                "not_taken": not_taken,
                **told(frames),
                "pieces_per_s": round(pieces_per_s, 1),
                "slices": steps,
            }
    return report
