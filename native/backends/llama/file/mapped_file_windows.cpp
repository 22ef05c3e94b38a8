// Windows refuses to cut a file that is mapped.
#include "mapped_file.hpp" // of the same folder: llama.cpp is compiled without ours

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
