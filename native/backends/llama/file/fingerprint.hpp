// Says what a saved state fits.
#pragma once

#include "file/source.hpp"
#include "model/options.hpp"

#include <string>

namespace sotto::llama {

// A JSON object: which weights, which library, which form of memory. Reads 2 MiB of the file at most.
std::string fingerprint(Source& file, const Options& options);

} // namespace sotto::llama
