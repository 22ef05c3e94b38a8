// The weights files of one model.
#pragma once

#include <filesystem>
#include <string>

#include <sotto/module.h>

#include "backends/diffusion/options.hpp"

namespace sotto::diffusion {

// Paths as stable-diffusion.cpp takes them.
struct ModelFiles {
    std::string
        checkpoint;  // a whole model, or its network under the names of one; empty: `parts` has the network
    Options options; // with absolute paths of the parts
};

// The path of UTF-8 text.
std::filesystem::path system_path(const std::string& path);

// Throws Error(SOTTO_ERROR_UNSUPPORTED) if the host has file access functions, which stable-diffusion.cpp has
// not.
void check_file_access(const sotto_file_access* files);

// Checks all files of a model before stable-diffusion.cpp reads them. Paths in `options` are relative to the
// folder of `path`. Throws Error with the file and the way out.
ModelFiles check_files(const std::string& path, const Options& options);

} // namespace sotto::diffusion
