// Reads a model's file through the host's functions or from the file system.
#pragma once

#include "runtime/fence.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace sotto::llama {

class Source {
public:
    virtual ~Source() = default;
    std::uint64_t size() const noexcept { return size_; }
    // Reads exactly `count` bytes at `offset`, or throws.
    virtual void read(std::uint64_t offset, void* out, std::size_t count) = 0;
    // Returns the file, positioned at its start, for llama.cpp. Owned by the source.
    virtual std::FILE* file() = 0;
    // Returns true if the operating system can map the file.
    virtual bool mappable() const noexcept = 0;

protected:
    std::uint64_t size_ = 0;
};

// Opens the file of `source`. Throws Error, such as SOTTO_ERROR_NOT_FOUND.
std::unique_ptr<Source> open_source(const sotto_model_source& source);

} // namespace sotto::llama
