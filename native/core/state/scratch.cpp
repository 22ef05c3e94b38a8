#include "core/state/scratch.hpp"

#include <algorithm>
#include <iterator>

namespace sotto {
namespace {

constexpr std::uint64_t kBlock = 4096; // bytes; extents are allocated in whole blocks

std::uint64_t blocks_of(std::uint64_t size) noexcept {
    return (size + kBlock - 1) / kBlock * kBlock;
}

} // namespace

std::error_code Scratch::open() {
    std::error_code failed;
    if (folder_.empty()) {
        return std::make_error_code(std::errc::no_such_file_or_directory);
    }
    if (!file_.is_open()) {
        file_ = scratch_file(folder_, failed);
    }
    return failed;
}

// First fit, so that used extents stay near the beginning of the file.
std::uint64_t Scratch::take(std::uint64_t size) {
    const auto found = std::ranges::find_if(free_, [&](const auto& hole) { return hole.second >= size; });
    if (found == free_.end()) {
        return std::exchange(end_, end_ + size);
    }
    const auto [offset, length] = *found;
    if (length > size) {
        free_.emplace(offset + size, length - size);
    }
    free_.erase(offset);
    return offset;
}

std::error_code Scratch::write(std::string_view bytes, Extent& extent) {
    if (const auto failed = open()) {
        return failed;
    }
    const Extent fresh = {take(blocks_of(bytes.size())), bytes.size()};
    const auto failed = file_.write(fresh.offset, bytes);
    if (failed) {
        free(fresh);
    } else {
        extent = fresh;
    }
    return failed;
}

void Scratch::free(const Extent& extent) {
    auto offset = extent.offset;
    auto size = blocks_of(extent.size);
    if (size == 0) {
        return;
    }
    file_.discard(offset, size);
    if (const auto next = free_.find(offset + size); next != free_.end()) {
        size += next->second;
        free_.erase(next);
    }
    if (const auto after = free_.lower_bound(offset); after != free_.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second == offset) {
            offset = before->first;
            size += before->second;
            free_.erase(before);
        }
    }
    if (offset + size < end_) {
        free_.emplace(offset, size);
    } else {
        end_ = offset;
        file_.resize(end_);
    }
}

} // namespace sotto
