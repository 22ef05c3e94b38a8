// Properties of a model that stable-diffusion.cpp knows, and calls that it makes while it generates an image.
#pragma once

#include <string>

#include <stable-diffusion.h>

namespace sotto::diffusion {

struct Facts {
    std::string name;       // of the architecture, such as "SD 1.x"
    int multiple = 0;       // width and height of an image are multiples of it
    int side = 0;           // of the model's own image size, in pixels
    int steps = 0;          // the model's own number of denoise steps
    float guidance = 0;     // the model's own guidance scale
    bool distilled = false; // guidance is an input of the network, not a second pass
    bool encodes = false;   // can start from an image
};

Facts facts_of(const sd_ctx_t& context);

// Returns true if the last image was generated with a LoRA adapter.
bool has_adapters(const sd_ctx_t& context);

// Called on the thread that generates an image. `step` 0: the prompt was encoded; otherwise, the denoise step
// that has ended.
void on_denoise_step(int step, int steps, float seconds);
// Returns the callback that gets previews of the image that the calling thread generates; null: none is
// wanted.
sd_preview_cb_t preview_callback();

} // namespace sotto::diffusion
