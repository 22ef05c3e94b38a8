#include "platform/mapping.hpp"

#include <cerrno>

#include <sys/mman.h>

namespace sotto {

Mapping::Mapping(const File& file, std::error_code& error) noexcept {
    const std::uint64_t size = file.size();
    if (size == 0 || size > SIZE_MAX / 2) {
        error = std::make_error_code(std::errc::file_too_large);
        return;
    }
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, static_cast<int>(file.handle()), 0);
    if (mapped == MAP_FAILED) {
        error = std::error_code(errno, std::generic_category());
        return;
    }
    error.clear();
    data_ = static_cast<const std::byte*>(mapped);
    size_ = size;
}

Mapping::~Mapping() {
    if (data_ != nullptr) {
        munmap(const_cast<std::byte*>(data_), size_);
    }
}

} // namespace sotto
