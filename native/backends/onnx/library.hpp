// Shared libraries of the system, for ONNX Runtime's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sotto::onnx {

// Loads a library with local symbols and never unloads it. Returns null on failure, with the reason in `why`.
void* open_library(const std::string& path, std::string& why);
// Returns an exported symbol, or null.
void* find_symbol(void* library, const char* name) noexcept;

// Names of ONNX Runtime's library, in the order in which the loader is asked for them.
const std::vector<std::string>& library_names();
// Returns the paths of files in `folder` that are ONNX Runtime's library by their names.
std::vector<std::string> libraries_in(const std::string& folder);
// Returns the folder of this module; empty: unknown.
std::string module_folder();

} // namespace sotto::onnx
