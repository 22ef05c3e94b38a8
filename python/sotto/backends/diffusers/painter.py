"""An open pipeline, which answers image requests step by step."""

from __future__ import annotations

import base64
import copy
import gc
import inspect
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import diffusers
import numpy as np
import torch
from PIL import Image

from ..._image_data import Pixels
from ...errors import ArgumentError, InferenceError, SottoError, Status
from ..base import Model, ModelInfo, Request
from ..base import Part as Step
from .files import pipeline_in
from .gate import Gate
from .loader import callback_of, load
from .options import Options
from .plan import Plan, plan_of
from .shape import DENOISERS, shape_of
from .turns import Turns

_PREVIEW = 32  # latents a side of a preview, at most
_BINNED = (32, 64, 128, 256)  # sample sizes that PixArt's table of aspect ratios has
_TASKS = {  # by whether there is an image, and a mask
    (True, False): ("image", "AutoPipelineForImage2Image"),
    (True, True): ("mask", "AutoPipelineForInpainting"),
}


class Painter(Model):
    """An open pipeline. One request at a time: the pipeline and its scheduler have a state."""

    def __init__(self, folder: Path, options: Mapping[str, Any], report: Callable[[float], None]) -> None:
        self._options = Options.read(options)
        found = pipeline_in(folder, self._options.variant)
        self._name, self._kind = folder.name, found.kind
        self._shape = shape_of(folder, found, self._options)
        self._pipes = {(False, False): load(folder, found, self._options, report)}
        pipe = self._pipes[False, False]
        self._scheduler = pipe.scheduler
        fields = inspect.signature(pipe.__call__).parameters
        self._steps = self._options.steps or int(fields["num_inference_steps"].default or 50)
        self._guidance = fields["guidance_scale"].default if "guidance_scale" in fields else None
        self._gate = Gate(pipe, next(getattr(pipe, name) for name in DENOISERS if hasattr(pipe, name)))
        self.info = ModelInfo(
            weights=_bytes_of(pipe),
            compute=self._shape.compute,
            description={
                "architecture": found.kind,
                "dtype": self._options.dtype,
                "steps": self._steps,
                "guidance_scale": self._guidance,
                "size": f"{self._shape.width}x{self._shape.height}",
                "size_multiple": self._shape.multiple,
                "max_pixels": self._shape.max_pixels,
            },
        )

    def units(self, request: Request) -> int:
        """Denoise steps, and one unit for each image that is decoded. Reads the request's images."""
        body = request.body
        plan = plan_of(body, self._shape, self._steps, self._guidance, self._name)
        fields = inspect.signature(self._pipe(plan).__call__).parameters
        for name in ("negative_prompt", "guidance_scale"):
            if body.get(name) and name not in fields:
                raise ArgumentError(f"invalid {name}: {self._kind} does not take it; remove the field")
        if plan.previews and hasattr(self._pipes[False, False], "_pack_latents"):
            raise ArgumentError(
                f"invalid partial_images '{plan.previews}': expected 0, for {self._kind} packs its latents"
            )
        request.state = plan
        return plan.units

    def image_generate(self, request: Request) -> Generator[Step, None, dict[str, Any] | None]:
        """Yields a step for each denoise step, and returns the images."""
        plan: Plan = request.state
        made: list[dict[str, Any]] = []
        turns = Turns(lambda turns: self._paint_all(plan, turns, made))
        self._gate.turns = turns
        try:
            while (step := turns.advance(request.cancelled)) is not None:
                yield step
        finally:
            turns.close()
            self._forget(turns)
        if len(made) < plan.count:
            return None  # cancelled
        return {
            "created": int(time.time()),
            "data": made,
            "output_format": plan.output_format,
            "size": f"{plan.width}x{plan.height}",
        }

    def close(self) -> None:
        """Frees the pipeline."""
        self._gate.close()
        self._pipes.clear()
        del self._scheduler
        gc.collect()

    def _forget(self, turns: Turns) -> None:
        """Frees what a request left, unless the next one has begun: a stream may be closed late."""
        if self._gate.turns is turns:
            self._gate.turns = None
            for pipe in self._pipes.values():
                pipe.scheduler = self._scheduler  # its copy keeps the last latents

    def _pipe(self, plan: Plan) -> Any:
        """The pipeline for a request: that of the folder, or one of its parts that starts from images."""
        task = (plan.image is not None, plan.mask is not None)
        if task not in self._pipes:
            field, auto = _TASKS[task]
            try:
                made = getattr(diffusers, auto).from_pipe(self._pipes[False, False])
            except ValueError:
                raise ArgumentError(
                    f"invalid {field}: {self._kind} generates images from text alone; remove the field, or "
                    "load a pipeline such as Stable Diffusion"
                ) from None
            made.set_progress_bar_config(disable=True)
            self._pipes[task] = made
        return self._pipes[task]

    def _paint_all(self, plan: Plan, turns: Turns, made: list[dict[str, Any]]) -> None:
        """Generates the images one after another, so that their number changes neither bytes nor memory."""
        threads = torch.get_num_threads()  # of the process: another user of PyTorch may have set it
        torch.set_num_threads(self._options.threads)
        try:
            for index in range(plan.count):
                painting = _Painting(plan, turns, index)
                image = self._paint(painting)
                self._finish(painting, image, made)
        except (SottoError, MemoryError):
            raise
        except Exception as error:
            raise self._failed(error) from None
        finally:
            torch.set_num_threads(threads)

    def _paint(self, painting: _Painting) -> Pixels:
        plan = painting.plan
        if plan.image is not None and not plan.computed:
            return plan.image
        pipe = self._pipe(plan)
        pipe.scheduler = copy.deepcopy(self._scheduler)
        self._gate.begin()
        output = pipe(**self._arguments(pipe, painting))
        if any(getattr(output, "nsfw_content_detected", None) or ()):
            raise _failure(
                f"the safety checker of {self._kind} rejected image {painting.index}: change the prompt or "
                "the seed"
            )
        values = np.asarray(output.images[0])
        if not np.isfinite(values).all():
            raise self._not_finite("the decoded image has")
        image = Image.fromarray((values * 255).round().astype("uint8"))
        if plan.image is None or plan.mask is None:
            return image
        return Image.composite(image, plan.image, plan.mask)

    def _arguments(self, pipe: Any, painting: _Painting) -> dict[str, Any]:
        """The arguments of a pipeline's call: those of the request that the pipeline has."""
        plan = painting.plan
        fields = inspect.signature(pipe.__call__).parameters
        sample = getattr(getattr(pipe, "transformer", None), "config", {}).get("sample_size")
        wanted = {
            "prompt": plan.prompt,
            "negative_prompt": plan.negative_prompt,
            "num_inference_steps": plan.steps,
            "guidance_scale": plan.guidance,
            "width": plan.width,
            "height": plan.height,
            "image": plan.image,
            "mask_image": plan.mask,
            "strength": None if plan.image is None else min(1.0, max(plan.strength, 1.0001 / plan.steps)),
            "generator": torch.Generator("cpu").manual_seed(plan.seed_of(painting.index)),
            "output_type": "np",
            "clean_caption": False,  # needs other packages, and the prompt is the caller's
            "use_resolution_binning": sample in _BINNED,
        }
        given = {name: value for name, value in wanted.items() if name in fields and value is not None}
        if callback_of(fields) == "callback":
            return given | {
                "callback": lambda at, _, latents: self._step(painting, latents),
                "callback_steps": 1,
            }

        def after(_pipe: Any, at: int, _time: Any, values: dict[str, Any]) -> dict[str, Any]:
            self._step(painting, values["latents"])
            return {}

        return given | {"callback_on_step_end": after, "callback_on_step_end_tensor_inputs": ["latents"]}

    def _step(self, painting: _Painting, latents: Any) -> None:
        """Hands a denoise step over, with a preview where the request asks for one."""
        painting.done += 1
        if not torch.isfinite(latents).all():
            raise self._not_finite(f"the latents after step {painting.done} of {painting.plan.computed} have")
        units = int(painting.done <= painting.plan.computed)  # some schedulers take more
        preview = painting.previews.get(painting.done)
        if preview is None:
            painting.turns.hand_over(Step(units=units))
            return
        image = self._preview(latents)
        info = {
            "partial": True,
            "index": painting.index,
            "partial_image_index": preview,
            "step": painting.done,
        }
        data = painting.plan.encoded(image, painting.index)
        painting.turns.hand_over(Step(data=data, info=info | painting.about(image), units=units))

    def _preview(self, latents: Any) -> Pixels:
        """Decodes latents at a reduced size: that costs less than a denoise step."""
        pipe = self._pipes[False, False]
        factor = min(1.0, _PREVIEW / max(latents.shape[-2:]))
        side = [max(1, round(length * factor)) for length in latents.shape[-2:]]
        small = torch.nn.functional.interpolate(latents.float(), size=side, mode="area")
        config = pipe.vae.config
        small = small / config.scaling_factor + (config.get("shift_factor") or 0.0)
        with torch.no_grad():
            decoded = pipe.vae.decode(small.to(pipe.vae.dtype), return_dict=False)[0]
        pixels = (decoded[0].float() / 2 + 0.5).clamp(0, 1).nan_to_num().permute(1, 2, 0)
        return Image.fromarray((pixels.numpy() * 255).round().astype("uint8"))

    def _finish(self, painting: _Painting, image: Pixels, made: list[dict[str, Any]]) -> None:
        """Encodes an image. The last one ends the request, unless its bytes are delivered as data."""
        plan, index = painting.plan, painting.index
        data = plan.encoded(image, index)
        told = {"revised_prompt": plan.prompt, "seed": plan.seed_of(index)}
        units = max(0, plan.computed - painting.done) + 1
        if plan.as_data:
            made.append(told)
            painting.turns.hand_over(
                Step(data=data, info={"index": index, **painting.about(image)}, units=units)
            )
            return
        made.append({"b64_json": base64.b64encode(data).decode(), **told})
        if index + 1 < plan.count:
            painting.turns.hand_over(Step(units=units))

    def _not_finite(self, what: str) -> InferenceError:
        way_out = "" if self._options.dtype == "float32" else "load it with the option dtype 'float32', or "
        return _failure(
            f"{self._kind} failed: {what} NaN or infinite values; {way_out}check the weights, or change "
            "guidance_scale"
        )

    def _failed(self, error: Exception) -> Exception:
        text = " ".join(str(error).split())[:400]
        if "alloc" in text and "memory" in text:  # how PyTorch says it
            return MemoryError(f"{self._kind} ran out of memory: {text}")
        return _failure(f"{self._kind} failed: {type(error).__name__}: {text}")


def _bytes_of(pipe: Any) -> int:
    """The memory of a pipeline's weights; some of them keep another type than `dtype`."""
    networks = [part for part in pipe.components.values() if isinstance(part, torch.nn.Module)]
    tensors = [one for network in networks for one in (*network.parameters(), *network.buffers())]
    return sum({one.data_ptr(): one.numel() * one.element_size() for one in tensors}.values())


def _failure(text: str) -> InferenceError:
    return InferenceError(text, Status.INFERENCE)


class _Painting:
    """One image while it is generated."""

    def __init__(self, plan: Plan, turns: Turns, index: int) -> None:
        self.plan, self.turns, self.index = plan, turns, index
        self.previews = plan.previews_after()
        self.done = 0  # denoise steps

    def about(self, image: Pixels) -> dict[str, Any]:
        """What `info` says about each image."""
        return {
            "seed": self.plan.seed_of(self.index),
            "width": image.width,
            "height": image.height,
            "format": self.plan.output_format,
        }
