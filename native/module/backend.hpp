// The C++ face of sotto/module.h: backends and the models they opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sotto/module.h>

#include "platform/pages.hpp"

namespace sotto {

// More bytes than any machine has; sums of two such figures can still be counted.
inline constexpr std::uint64_t kMaxBytes = INT64_MAX;

// What a backend said. It may be the host's, whose strings may end in a NUL instead of having a size.
std::string_view view_of(sotto_str text) noexcept;

// Why a backend failed, in words. Ill-formed UTF-8 is replaced.
std::string reason_of(sotto_str why);

// A table of functions, checked. One engine's; its `self` may be another's too, where a host gave it to both.
class Backend {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) where the table lacks what it must have, and
    // Error(SOTTO_ERROR_UNSUPPORTED) where it uses what is not known here.
    explicit Backend(const sotto_backend& table);

    const std::string& name() const noexcept { return name_; }
    const std::string& description() const noexcept { return description_; }
    const sotto_backend& table() const noexcept { return table_; }
    bool uses(sotto_backend_uses what) const noexcept { return (table_.uses & what) != 0; }
    // Tells it that the engine goes. False: it wants to hear nothing of that.
    bool release() const noexcept;

private:
    sotto_backend table_;
    std::string name_;
    std::string description_;
};

struct ModelInfo {
    sotto_capabilities capabilities = 0;
    std::uint32_t streams = 1; // 0: the model was resized to no places
    std::uint32_t context = 0;
    std::uint32_t step_tokens = 0;
    std::uint32_t min_step_tokens = 0;
    std::uint64_t weights = 0;
    std::uint64_t kv = 0;
    std::uint64_t compute = 0;
    std::string description;
    std::string fingerprint; // empty: no state can be saved
    sotto_model_shrinkable shrinkable = 0;
    std::uint32_t min_stream_tokens = 0;
    std::uint64_t host = 0; // bytes beside those of its device
    std::uint32_t layers = 0;
    sotto_operations operations = 0; // never 0 once it was read

    bool does(sotto_op op) const noexcept { return (operations >> static_cast<unsigned>(op) & 1U) != 0; }
    bool can(sotto_capabilities what) const noexcept { return (capabilities & what) != 0; }
    bool can_give(sotto_model_shrinkable what) const noexcept { return (shrinkable & what) != 0; }
    // All that count; what a broken file asks for may be beyond counting.
    std::uint64_t bytes() const noexcept {
        const auto add = [](std::uint64_t a, std::uint64_t b) {
            return a > UINT64_MAX - b ? UINT64_MAX : a + b;
        };
        return add(add(weights, kv), compute);
    }
};

// What a model would take, as far as the backend can tell without loading it; zeros if it can't.
ModelInfo measure(const Backend& backend, const sotto_model_source& source);

// What a stream begins with.
struct StreamInfo {
    void* stream = nullptr; // none: `result` is the whole response
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;
    std::uint32_t dropped = 0;
    std::string stops; // JSON, or empty
    std::string result;
    bool parsed = false;
};

// What a backend made of a request before its stream is opened.
struct Prepared {
    void* handle = nullptr; // none: `result` is the whole response
    std::string result;
};

// An open model; closes itself. Every failure is an Error with the backend's status and reason.
class Model {
public:
    Model(const Backend& backend, const sotto_model_source& source);
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    const ModelInfo& info() const noexcept { return info_; }
    const Backend& backend() const noexcept { return backend_; }

    // Takes `prepared` over, also where it throws.
    StreamInfo open_stream(
        sotto_op op,
        std::string_view body,
        std::uint32_t index,
        sotto_stream_flags flags = 0,
        void* prepared = nullptr,
        std::span<void* const> adapters = {},
        std::span<const float> scales = {} // one each
    );
    // Whether requests can be prepared, on any thread, while the model does something else. Once `cancelled`
    // is set, that ends soon, with SOTTO_ERROR_CANCELLED.
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
    // Whether streams can give up their places, and get them back. Returns what must be worked through again.
    bool can_park() const noexcept { return info_.can(SOTTO_CAPABILITY_PARKABLE); }
    void park(void* stream) noexcept;
    std::uint32_t unpark(void* stream);
    // Adapters of the file at `path`, which `files` reads, if it is not null. Each throws
    // Error(SOTTO_ERROR_UNSUPPORTED) where the backend has none. What one takes, as far as that is known
    // before; then a handle, and what it takes in `bytes`.
    std::uint64_t measure_adapter(const std::string& path, const sotto_file_access* files);
    void* open_adapter(const std::string& path, const sotto_file_access* files, std::uint64_t& bytes);
    void close_adapter(void* adapter) noexcept;
    // Returns SOTTO_OK or SOTTO_ERROR_CANCELLED. Does not check the shares.
    sotto_status step(const sotto_step& step);
    // What `text`, all that the stream generated so far, adds to what was read before: deltas as JSON.
    std::string parse(void* stream, std::string_view text, bool last);
    // Appends what the model remembers of a stream to `state`. Returns of how many tokens that is. Only where
    // there is a fingerprint.
    std::uint32_t save(void* stream, PageBuffer& state);
    // Remembers it again. Returns how many tokens that is.
    std::uint32_t restore(std::string_view state);
    // Whether it can have fewer places than it was opened with, 0 too, and get them back.
    bool can_resize() const noexcept { return info_.can_give(SOTTO_SHRINKABLE_PLACES); }
    // All streams are parked, and what the model remembered is forgotten. info() tells what it takes then,
    // also where this throws; it has as many places as before then, or none.
    void resize(std::uint32_t places);

private:
    const Backend& backend_;
    void* handle_ = nullptr;
    ModelInfo info_;
};

} // namespace sotto
