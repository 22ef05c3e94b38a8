// Identifies the models for which a saved state is valid.
#pragma once

#include "file/source.hpp"
#include "model/options.hpp"

#include <string>

namespace sotto::llama {

// Returns a hash of the file's size and of at most 2 MiB of it: of its start, which holds the metadata, and
// of samples of the rest. Different models have different hashes unless someone constructs them to collide.
std::string file_hash(Source& file);

// Returns a JSON object that identifies the weights, the library's version and the KV cache's format. Reads
// at most 2 MiB of the file.
std::string fingerprint(Source& file, const Options& options);

} // namespace sotto::llama
