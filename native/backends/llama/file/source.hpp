// A model's file, read through the host's functions or from the file system.
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
    // Reads exactly `count` bytes from `offset`, or throws.
    virtual void read(std::uint64_t offset, void* out, std::size_t count) = 0;
    // The file at its beginning, for llama.cpp. Belongs to the source.
    virtual std::FILE* file() = 0;
    // Whether the operating system can map it.
    virtual bool mappable() const noexcept = 0;

protected:
    std::uint64_t size_ = 0;
};

// Opens what `source` points at, or throws Error(SOTTO_ERROR_NOT_FOUND) and the like.
std::unique_ptr<Source> open_source(const sotto_model_source& source);

} // namespace sotto::llama
