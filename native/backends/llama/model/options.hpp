// Options that a host can set when it opens a model.
#pragma once

#include "devices/lost.hpp"
#include "runtime/fence.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace sotto::llama {

struct Device;

struct Options {
    // Device to compute on; null: the CPU.
    const Device* device = nullptr;
    // Loss state of the device. Not a host option.
    Loss loss;
    // Number of layers on the device, including the output layer. Default: all.
    std::uint32_t gpu_layers = 1 << 16;
    // Context size of one stream, in tokens. Default: 2048, or the trained context if that is less.
    std::uint32_t context = 2048;
    // Minimum context size of one stream if memory is short, in tokens. Default: `context` if the
    // host sets it, else 512, or `context` if that is less.
    std::uint32_t min_context = 512;
    // Maximum number of concurrent streams, 1 to 64.
    std::uint32_t parallel = 4;
    // Number of slots to create when the model is opened, at most `parallel`. Not a host option.
    std::uint32_t places = 4;
    // Maximum number of tokens per step, from `parallel` to 4096.
    std::uint32_t batch = 512;
    // n_ubatch in effect. Not a host option.
    std::uint32_t at_once = 512;
    // Limits of a step that the host sets.
    struct Limits {
        std::uint32_t ubatch = 0;          // tokens that are computed at once, at most `batch`; 0: chosen
        std::uint32_t decode_threads = 0;  // of a step that only decodes; 0: as many as the engine allows
        std::uint32_t prefill_threads = 0; // of a step that prefills; default: `decode_threads`
        std::uint32_t draft_max = 15;      // draft tokens
    } limits;
    // Maps the file instead of reading it, if possible.
    bool mmap = true;
    // Locks the weights in main memory. If the system refuses, the log has a warning.
    bool mlock = false;
    // Refuses files with NaN, infinite or invalid numbers in their tensors, which takes a read of the file.
    bool check_tensors = false;
    // "auto" (the fastest decode that fits into memory), "on" or "off".
    enum class FlashAttention { Auto, On, Off } flash_attention = FlashAttention::Auto;
    // Type of keys and values: "f16", or "q8_0", which takes about half the memory and needs flash attention.
    enum class KvType { F16, Q8_0 } kv_type = KvType::F16;
    // Keeps the KV cache of layers on the device there, and computes their attention there.
    bool offload_kqv = true;
    // RoPE base frequency, and factor of the positions; 0: what the model's file says.
    struct Rope {
        float base = 0;
        float scale = 0;
    } rope;
    // Chooses q8_0 if the model supports it, because memory is short. Not a host option.
    bool small_kv = false;
    // Path of a projector (mmproj), which encodes images or sounds for the model; empty: text only.
    std::string projector;
    // Maximum number of tokens per image, for models that read images of any size. 0: the model's
    // default, which may exceed `context`.
    std::uint32_t image_tokens = 0;
    // "off", or "lookup": speculative decoding. Draft tokens are the tokens that followed an earlier
    // occurrence of the last tokens; one batch checks several draft tokens. Requires a KV cache that can be
    // cut at any token.
    enum class Speculative { Off, Lookup } speculative = Speculative::Off;
    // Path of a draft model with the same vocabulary; empty: none.
    std::string draft;
    // Jinja chat template that replaces the model's own; empty: none.
    std::string chat_template;
    // How token vectors become the vector of a text; None: the model generates text. Unset: what the model's
    // file says.
    enum class Pooling { None, Mean, Cls, Last, Rank, Tokens }; // Tokens: a vector for each token
    std::optional<Pooling> pooling;
    // Options that the host left open and that can still shrink.
    sotto_model_shrinkable shrinkable = 0;
};

// Returns true if the model decodes speculatively.
inline bool speculates(const Options& options) noexcept {
    return options.speculative != Options::Speculative::Off || !options.draft.empty();
}

// Returns true if the model embeds texts or ranks documents, instead of generating text.
inline bool embeds(const Options& options) noexcept {
    return options.pooling.value_or(Options::Pooling::None) != Options::Pooling::None;
}

// Reads the options of `source`. Shrinks options that the host left open if `source` requests less memory.
// Throws Error(SOTTO_ERROR_ARGUMENT) with the option, its value and the allowed range.
Options read_options(const sotto_model_source& source, std::uint32_t trained_context);

} // namespace sotto::llama
