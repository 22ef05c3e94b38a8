// MappedFile without any checks: Windows refuses to truncate a mapped file.
#include "mapped_file.hpp" // relative to this file: llama.cpp is compiled without our include folders

namespace sotto::llama {

struct MappedRanges {};

MappedFile::MappedFile() = default;
MappedFile::~MappedFile() = default;
MappedFile::MappedFile(MappedFile&& other) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept = default;

bool MappedFile::cut() const noexcept {
    return false;
}

MappedFile::Loading::Loading(MappedFile&) noexcept {}
MappedFile::Loading::~Loading() = default;

} // namespace sotto::llama
