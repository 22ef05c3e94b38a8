// An LRU cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace sotto::llama {

// Least-recently-used cache, limited to `most` bytes. Any thread. `T::bytes()` returns a value's size.
template <typename T>
class Recent {
public:
    explicit Recent(std::size_t most) : most_(most) {}

    // Returns the cached value for `key`, or calls make() and caches its result. Caches nothing if make()
    // throws. Holds no lock while make() runs: two threads may create the same value.
    template <typename Make>
    std::shared_ptr<const T> get(const std::string& key, Make&& make) {
        if (auto found = find(key)) {
            return found;
        }
        auto value = std::make_shared<const T>(std::forward<Make>(make)());
        const auto bytes = key.size() + value->bytes();
        const std::lock_guard lock(mutex_);
        if (bytes <= most_ && !entries_.contains(key)) {
            make_room(bytes);
            entries_.emplace(key, Entry{value, bytes, ++clock_});
            bytes_ += bytes;
        }
        return value;
    }

private:
    struct Entry {
        std::shared_ptr<const T> value;
        std::size_t bytes;
        std::uint64_t used; // value of clock_ at the last use
    };

    std::shared_ptr<const T> find(const std::string& key) {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find(key);
        if (found == entries_.end()) {
            return nullptr;
        }
        found->second.used = ++clock_;
        return found->second.value;
    }

    void make_room(std::size_t bytes) {
        while (bytes_ + bytes > most_) {
            const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](auto& a, auto& b) {
                return a.second.used < b.second.used;
            });
            bytes_ -= oldest->second.bytes;
            entries_.erase(oldest);
        }
    }

    const std::size_t most_;
    std::mutex mutex_; // guards the members below
    std::map<std::string, Entry> entries_;
    std::size_t bytes_ = 0;
    std::uint64_t clock_ = 0;
};

} // namespace sotto::llama
