// ONNX Runtime's shared library, opened at run time.
#pragma once

#include <memory>
#include <string>

#include <onnxruntime_c_api.h>

namespace sotto::onnx {

// Version of the API that is asked for: the first with all that is used here. Later libraries have it too.
constexpr std::uint32_t kApiVersion = 17;

// The library, and its environment. One per process: the library's environment is one per process, too. Any
// thread.
class Runtime {
public:
    // Returns the library. The first call opens it: from `path`; if that is empty, from the environment
    // variable SOTTO_ONNXRUNTIME, this module's folder, or the system's loader. Throws
    // Error(SOTTO_ERROR_UNSUPPORTED), with all that was tried, if no library of version 1.17 or later is
    // found.
    static const Runtime& open(const std::string& path);

    const OrtApi& api() const noexcept { return *api_; }
    OrtEnv* env() const noexcept { return env_; }
    const std::string& version() const noexcept { return version_; }
    // True if sessions allocate through SessionMemory.
    bool counts_memory() const noexcept { return counts_memory_; }

    // Throws an Error for a status that is none of success, and releases it. `what`: what was being done.
    void check(OrtStatus* status, const char* what) const;

private:
    Runtime(const OrtApi& api, std::string version);

    const OrtApi* api_;
    const std::string version_;
    OrtEnv* env_ = nullptr;
    bool counts_memory_ = false;
};

// Releases an object of ONNX Runtime.
template <typename T>
struct Release {
    void (*release)(T*) = nullptr;
    void operator()(T* object) const noexcept { release(object); }
};
template <typename T>
using Owned = std::unique_ptr<T, Release<T>>;

} // namespace sotto::onnx
