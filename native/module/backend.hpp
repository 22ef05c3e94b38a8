// C++ wrapper of sotto/module.h: backends and the models that they open.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sotto/module.h>

#include "platform/pages.hpp"

namespace sotto {

// More bytes than any machine has, and small enough that two such values can be added.
inline constexpr std::uint64_t kMaxBytes = INT64_MAX;

// View of a backend's string. A host's backend may terminate strings with NUL instead of setting their size.
std::string_view view_of(sotto_str text) noexcept;

// Returns the reason that a backend reported for a failure. Replaces ill-formed UTF-8.
std::string reason_of(sotto_str why);

// A validated function table of a backend, for one engine. A host may pass the same `self` to several
// engines.
class Backend {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) if the table lacks a required function, and
    // Error(SOTTO_ERROR_UNSUPPORTED) if it uses features of a newer version.
    explicit Backend(const sotto_backend& table);

    const std::string& name() const noexcept { return name_; }
    const std::string& description() const noexcept { return description_; }
    // Returns what the `system_fingerprint` of responses is: the backend's build and Sotto's version.
    const std::string& fingerprint() const noexcept { return fingerprint_; }
    const sotto_backend& table() const noexcept { return table_; }
    bool uses(sotto_backend_uses what) const noexcept { return (table_.uses & what) != 0; }
    // Notifies the backend that the engine is being destroyed. Returns false if its table has no `release`.
    bool release() const noexcept;

private:
    sotto_backend table_;
    std::string name_;
    std::string description_;
    std::string fingerprint_;
};

// Memory of a model in bytes.
struct ModelMemory {
    std::uint64_t weights = 0;
    std::uint64_t kv = 0;
    std::uint64_t compute = 0;
    std::uint64_t host = 0; // bytes of host memory in addition to those of the device

    // Sum of all parts, saturated: the sizes that a corrupt file claims may overflow.
    std::uint64_t bytes() const noexcept {
        const auto add = [](std::uint64_t a, std::uint64_t b) {
            return a > UINT64_MAX - b ? UINT64_MAX : a + b;
        };
        return add(add(weights, kv), compute);
    }
};

struct ModelInfo : ModelMemory {
    sotto_capabilities capabilities = 0;
    std::uint32_t streams = 1; // 0 after a resize to 0 slots
    std::uint32_t context = 0;
    std::uint32_t step_tokens = 0;
    std::uint32_t min_step_tokens = 0;
    std::string description;
    std::string fingerprint; // identifies compatible saved states; empty: state cannot be saved
    sotto_model_shrinkable shrinkable = 0;
    std::uint32_t min_stream_tokens = 0;
    std::uint32_t layers = 0;
    sotto_operations operations = 0; // 0 only before the backend has described the model

    bool does(sotto_op op) const noexcept { return (operations >> static_cast<unsigned>(op) & 1U) != 0; }
    bool can(sotto_capabilities what) const noexcept { return (capabilities & what) != 0; }
    bool can_give(sotto_model_shrinkable what) const noexcept { return (shrinkable & what) != 0; }
};

// Estimates a model's memory without loading it. Returns zero sizes if the backend has no `measure`.
ModelInfo measure(const Backend& backend, const sotto_model_source& source);

// Quantizes a model's file. Throws Error, with SOTTO_ERROR_UNSUPPORTED if the backend quantizes no files.
void quantize(const Backend& backend, const sotto_quantize_source& desc);

// State of a slot.
struct SlotUse {
    std::uint32_t tokens = 0; // number of tokens that the slot holds
    bool in_use = false;      // a stream has the slot
};

// Result of opening a stream.
struct StreamInfo {
    void* stream = nullptr; // null: `result` is the complete response
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;
    std::uint32_t dropped = 0;
    std::string stops; // JSON; may be empty
    std::string result;
    bool parsed = false;
    std::int32_t slot = -1; // number of the stream's slot; -1: not reported
    std::string settings;   // values in effect, a JSON object; may be empty
    bool truncated = false; // a part of the prompt was left out
};

// A request that the backend has prepared (parsed, rendered, tokenized) before its stream is opened.
struct Prepared {
    void* handle = nullptr; // null: `result` is the complete response
    std::string result;
};

// An open model, closed by the destructor. Every failure is an Error with the backend's status and reason.
class Model {
public:
    Model(const Backend& backend, const sotto_model_source& source);
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    const ModelInfo& info() const noexcept { return info_; }
    const Backend& backend() const noexcept { return backend_; }

    // Opens a stream for a request. Takes ownership of `prepared`, even if opening the stream throws.
    StreamInfo open_stream(
        sotto_op op,
        std::string_view body,
        std::uint32_t index,
        sotto_stream_flags flags = 0,
        void* prepared = nullptr,
        std::span<void* const> adapters = {},
        std::span<const float> scales = {} // one scale for each adapter
    );
    // Returns true if requests can be prepared on any thread while the model is busy. Once `cancelled` is
    // set, prepare() soon throws Error(SOTTO_ERROR_CANCELLED).
    bool can_prepare() const noexcept { return info_.can(SOTTO_CAPABILITY_PREPARABLE); }
    Prepared prepare(
        sotto_op op,
        std::string_view body,
        std::uint32_t index,
        sotto_stream_flags flags,
        std::atomic<bool>& cancelled
    );
    void close_prepared(void* prepared) noexcept;
    void close_stream(void* stream) noexcept;
    // park() releases a stream's slot for another stream. unpark() gives a parked stream a slot again and
    // returns the number of tokens that must be prefilled again.
    void park(void* stream) noexcept;
    std::uint32_t unpark(void* stream);
    // LoRA adapters from the file at `path`, read through `files` unless that is null. Each function throws
    // Error(SOTTO_ERROR_UNSUPPORTED) if the backend has no adapters. measure_adapter() returns an estimate in
    // bytes before loading; open_adapter() returns a handle and the actual size in `bytes`.
    std::uint64_t measure_adapter(const std::string& path, const sotto_file_access* files);
    void* open_adapter(const std::string& path, const sotto_file_access* files, std::uint64_t& bytes);
    void close_adapter(void* adapter) noexcept;
    // Runs a step. Returns SOTTO_OK or SOTTO_ERROR_CANCELLED; throws Error on any other failure. Does not
    // validate the results in the step's items.
    sotto_status step(const sotto_step& step);
    // Parses `text`, the stream's whole output so far. Returns the additions since the last call as a JSON
    // array of deltas. `last`: no more text follows.
    std::string parse(void* stream, std::string_view text, bool last);
    // Appends the KV cache of a stream to `state`. Returns the number of tokens in the state. Requires a
    // model with a fingerprint.
    std::uint32_t save(void* stream, PageBuffer& state);
    // Restores a saved KV cache. Returns the number of tokens in the state.
    std::uint32_t restore(std::string_view state);
    // The slots by number, for models that perform SOTTO_OP_SLOTS. save_slot() appends the KV cache of a slot
    // to `state`; restore_slot() replaces it by a saved one; erase_slot() empties the slot. Each returns a
    // number of tokens, and throws Error(SOTTO_ERROR_BUSY) if a stream has the slot.
    SlotUse read_slot(std::uint32_t slot);
    std::uint32_t save_slot(std::uint32_t slot, PageBuffer& state);
    std::uint32_t restore_slot(std::uint32_t slot, std::string_view state);
    std::uint32_t erase_slot(std::uint32_t slot);
    // Returns true if the number of slots can be reduced below the number at loading, down to 0, and raised
    // again up to that number.
    bool can_resize() const noexcept { return info_.can_give(SOTTO_SHRINKABLE_PLACES); }
    // Sets the number of slots to `places`. All streams must be parked; the KV cache in the slots is dropped.
    // Afterwards, also after an exception, info() reports the new memory sizes. After an exception the model
    // has either its previous number of slots or none.
    void resize(std::uint32_t places);

private:
    const Backend& backend_;
    void* handle_ = nullptr;
    ModelInfo info_;
};

} // namespace sotto
