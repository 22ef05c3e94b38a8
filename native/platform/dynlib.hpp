// Shared libraries loaded at run time, and the folder of this library.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace sotto {

// Loads a library with local symbols and never unloads it. A bare name is looked up among the system's
// libraries. Returns null on failure, with the reason in `why` and, if known, the system's error code in
// `failed`.
void* open_library(const std::filesystem::path& path, std::string& why, std::error_code& failed);
void* open_library(const std::filesystem::path& path, std::string& why);

// Returns an exported symbol, or null.
void* find_symbol(void* library, const char* name) noexcept;

// Absolute path of the folder from which the library with this code was loaded. Empty: unknown.
const std::filesystem::path& library_folder();

// Keeps the library with this code loaded until the process ends. Returns false if the system refuses.
bool keep_loaded() noexcept;

// Lists the shared libraries in a folder. `failed`: reason why the folder cannot be read. A missing folder is
// not a failure; its list is empty.
std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& folder, std::error_code& failed);

// File suffix of shared libraries, with the dot.
const char* library_suffix() noexcept;

} // namespace sotto
