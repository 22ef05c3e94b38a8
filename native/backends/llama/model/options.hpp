// What a host may ask of a model when it opens it.
#pragma once

#include "devices/lost.hpp"
#include "runtime/fence.hpp"

#include <cstdint>
#include <string>

namespace sotto::llama {

struct Device;

struct Options {
    // Where to compute; null: on the processor.
    const Device* device = nullptr;
    // Of that device. Not asked for.
    Loss loss;
    // Number of layers on the device, counting the output layer. Default: all.
    std::uint32_t gpu_layers = 1 << 16;
    // Tokens that one stream holds. Default: 2048, or what the model was trained on if that is less.
    std::uint32_t context = 2048;
    // Tokens that one stream holds at least, where memory is short. Default: `context` if that was named,
    // else 512, or `context` if less.
    std::uint32_t min_context = 512;
    // Streams that may be open at once, 1 to 64.
    std::uint32_t parallel = 4;
    // Of these, places that there are to begin with. Not asked for.
    std::uint32_t places = 4;
    // Maximum tokens of a step, from `parallel` to 4096.
    std::uint32_t batch = 512;
    // Of these, tokens that are computed at once. Default: as many as memory allows.
    std::uint32_t at_once = 512;
    // Whether the file is mapped rather than read, where it can be.
    bool mmap = true;
    // "auto" (what speaks fastest, if there is room), "on" or "off".
    enum class FlashAttention { Auto, On, Off } flash_attention = FlashAttention::Auto;
    // What keys and values are kept as: "f16", or "q8_0", which takes about half and needs flash attention.
    enum class KvType { F16, Q8_0 } kv_type = KvType::F16;
    // The latter where the model can, because memory is short. Not asked for.
    bool small_kv = false;
    // The file of a projector (mmproj) that lets the model see or hear; empty: it reads text alone.
    std::string projector;
    // Tokens that an image takes at most, where the model reads images of any size. 0: what the model was
    // made for, which may be more than `context`.
    std::uint32_t image_tokens = 0;
    // "off", or "lookup": what a stream says next is guessed from what followed the same words before, and
    // guesses are checked several in one go. Wants a memory that can be cut anywhere.
    enum class Speculative { Off, Lookup } speculative = Speculative::Off;
    // The file of a small model of the same vocabulary, which guesses too; empty: none.
    std::string draft;
    // Jinja to render conversations with instead of the model's own template.
    std::string chat_template;
    // What was left open, and may still be made smaller.
    sotto_model_shrinkable shrinkable = 0;
};

// Returns true if the model decodes speculatively.
inline bool speculates(const Options& options) noexcept {
    return options.speculative != Options::Speculative::Off || !options.draft.empty();
}

// Reads the options of `source`, and saves memory as that wants where they leave it open. Throws
// Error(SOTTO_ERROR_ARGUMENT) naming option, value and what is allowed.
Options read_options(const sotto_model_source& source, std::uint32_t trained_context);

} // namespace sotto::llama
