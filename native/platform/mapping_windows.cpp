#include "platform/mapping.hpp"

#include "platform/windows.hpp"

namespace sotto {

Mapping::Mapping(const File& file, std::error_code& error) noexcept {
    const std::uint64_t size = file.size();
    const auto handle = reinterpret_cast<HANDLE>(file.handle());
    error = std::make_error_code(size == 0 ? std::errc::file_too_large : std::errc::not_enough_memory);
    const HANDLE section =
        size > 0 ? CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr) : nullptr;
    if (section == nullptr) {
        return;
    }
    const void* mapped = MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
    CloseHandle(section); // the view keeps it
    if (mapped != nullptr) {
        error.clear();
        data_ = static_cast<const std::byte*>(mapped);
        size_ = static_cast<std::size_t>(size);
    }
}

Mapping::~Mapping() {
    if (data_ != nullptr) {
        UnmapViewOfFile(data_);
    }
}

} // namespace sotto
