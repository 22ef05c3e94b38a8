// Reads a model's file through the host's functions or from the file system.
#pragma once

#include "gguf/source.hpp"
#include "runtime/fence.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace sotto::llama {

class Source : public gguf::Source {
public:
    // Returns the file, positioned at its start, for llama.cpp. Owned by the source.
    virtual std::FILE* file() = 0;
    // Returns true if the operating system can map the file.
    virtual bool mappable() const noexcept = 0;
};

// Opens the file of `source`. Throws Error, such as SOTTO_ERROR_NOT_FOUND.
std::unique_ptr<Source> open_source(const sotto_model_source& source);

} // namespace sotto::llama
