// One model in ONNX Runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/onnx/memory.hpp"
#include "backends/onnx/runtime.hpp"
#include "backends/onnx/threads.hpp"

namespace sotto::onnx {

// Shape of an image tensor. 0: of any size.
struct Shape {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
};

// A model's output: one channel.
struct Mask {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::vector<float> values; // rows from top to bottom
};

// Called while a run computes, on the thread that called run(). True: the run is to stop.
using Stops = std::function<bool()>;

class Session {
public:
    // Loads a model. Throws Error, SOTTO_ERROR_MODEL if it is no model of one image input, 3 channels, float
    // or float16, and a mask as first output.
    Session(const Runtime& runtime, std::string_view file, std::uint32_t threads);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Shape& input_shape() const noexcept { return input_shape_; }
    const std::string& input_name() const noexcept { return input_name_; }
    // Returns a value of the model's metadata; nullopt: the model has no such key.
    std::optional<std::string> metadata(const char* key) const;

    // Computes the mask of an image, planar float of `size`. Calls `stops` about every millisecond, and
    // returns nullopt soon after it has returned true. All threads run in `thread_class`. Throws Error.
    std::optional<Mask>
    run(const std::vector<float>& image,
        const Shape& size,
        sotto_thread_class thread_class,
        const Stops& stops);

    // Keeps the memory of a run for the next one. Called once, after the first run.
    void keep_memory() { memory_.keep_freed(); }
    // Bytes that the model holds.
    std::uint64_t weights() const noexcept { return weights_; }
    // Bytes that runs take in addition, and keep; 0 before keep_memory().
    std::uint64_t run_memory() const { return memory_.limit(); }

private:
    struct Run;

    void read_input();
    void read_output();
    Owned<OrtTypeInfo> type_of(bool input) const;
    Mask read_mask(const OrtValue& value) const;
    Owned<OrtSessionOptions> make_options(std::uint32_t threads);

    const Runtime& runtime_;
    const OrtApi& api_;
    SessionMemory memory_;
    ThreadGroup threads_;
    Owned<OrtSession> session_;
    Owned<OrtMemoryInfo> memory_info_;
    std::string input_name_;
    std::string output_name_;
    Shape input_shape_;
    bool half_input_ = false;
    std::uint64_t weights_ = 0;
};

} // namespace sotto::onnx
