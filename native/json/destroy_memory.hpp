// Memory for destructors and comparisons of JSON values, which must not fail. The build force-includes this
// file before every use of nlohmann/json (cmake/Deps.cmake), including llama.cpp's common/.
//
// ~basic_json() is noexcept but flattens its tree into a std::vector<basic_json>: a failed allocation would
// terminate the process. So values get an allocator of their own, and std::allocator<basic_json>, which only
// that vector still uses, is specialised never to throw.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sotto {

// Allocates from the heap; if the heap is exhausted, from reserved blocks; if all blocks are in use, retries
// the heap until another thread has freed memory.
class DestroyMemory {
public:
    void* allocate(std::size_t bytes) noexcept {
        for (;;) {
            if (void* made = ::operator new(bytes, std::nothrow)) {
                return made;
            }
            for (std::size_t i = 0; bytes <= kBlockBytes && i < kBlocks; ++i) {
                if (!taken_[i].exchange(true, std::memory_order_acquire)) {
                    return blocks_[i];
                }
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    void deallocate(void* made) noexcept {
        const auto* at = static_cast<const std::byte*>(made);
        const std::less<const std::byte*> before;
        if (before(at, blocks_[0]) || !before(at, blocks_[0] + sizeof blocks_)) {
            ::operator delete(made);
            return;
        }
        const auto offset = static_cast<std::size_t>(at - blocks_[0]);
        taken_[offset / kBlockBytes].store(false, std::memory_order_release);
    }

private:
    static constexpr std::size_t kBlocks =
        8; // each thread that destroys a value needs two blocks while the vector grows
    static constexpr std::size_t kBlockBytes = 16 * 1024;

    std::atomic<bool> taken_[kBlocks]{};
    alignas(std::max_align_t) std::byte blocks_[kBlocks][kBlockBytes]{};
};

inline constinit DestroyMemory destroy_memory;

// Returns true if a JSON value is the string `text`.
template <typename Json>
bool is_text(const Json& value, std::string_view text) noexcept {
    const auto* found = value.template get_ptr<const typename Json::string_t*>();
    return found != nullptr && *found == text;
}

// The allocator of JSON values. Behaves as std::allocator, but is another type, because
// std::allocator<basic_json> is specialised below never to throw.
template <typename T>
struct JsonAllocator {
    using value_type = T;

    JsonAllocator() = default;
    template <typename U>
    JsonAllocator(const JsonAllocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        if (count > SIZE_MAX / 2 / sizeof(T)) {
            throw std::bad_array_new_length();
        }
        return static_cast<T*>(::operator new(count * sizeof(T)));
    }
    void deallocate(T* made, std::size_t) noexcept { ::operator delete(made); }

    friend bool operator==(const JsonAllocator&, const JsonAllocator&) noexcept { return true; }
};

} // namespace sotto

// Replaces nlohmann/json_fwd.hpp, which declares basic_json with std::allocator.
#define INCLUDE_NLOHMANN_JSON_FWD_HPP_
#define NLOHMANN_JSON_NAMESPACE nlohmann
#define NLOHMANN_JSON_NAMESPACE_BEGIN namespace nlohmann {
#define NLOHMANN_JSON_NAMESPACE_END }

namespace nlohmann {

template <typename T = void, typename SFINAE = void>
struct adl_serializer;

template <
    template <typename U, typename V, typename... Args> class ObjectType = std::map,
    template <typename U, typename... Args> class ArrayType = std::vector,
    class StringType = std::string,
    class BooleanType = bool,
    class NumberIntegerType = std::int64_t,
    class NumberUnsignedType = std::uint64_t,
    class NumberFloatType = double,
    template <typename U> class AllocatorType = sotto::JsonAllocator,
    template <typename T, typename SFINAE = void> class JSONSerializer = adl_serializer,
    class BinaryType = std::vector<std::uint8_t>,
    class CustomBaseClass = void>
class basic_json;

template <typename RefStringType>
class json_pointer;

using json = basic_json<>;

template <class Key, class T, class IgnoredLess, class Allocator>
struct ordered_map;

using ordered_json = basic_json<nlohmann::ordered_map>;

// nlohmann's own comparison with a literal is noexcept but allocates a value for the literal.
template <int = 0>
bool operator==(const json& value, const char* text) noexcept {
    return sotto::is_text(value, text);
}
template <int = 0>
bool operator==(const ordered_json& value, const char* text) noexcept {
    return sotto::is_text(value, text);
}

} // namespace nlohmann

// Matches every basic_json that uses our allocator. Only program-defined types may specialise std::allocator.
template <
    template <typename U, typename V, typename... Args> class Object,
    template <typename U, typename... Args> class Array,
    class String,
    class Boolean,
    class Integer,
    class Unsigned,
    class Float,
    template <typename T, typename SFINAE> class Serializer,
    class Binary,
    class Base>
class std::allocator<nlohmann::basic_json<
    Object,
    Array,
    String,
    Boolean,
    Integer,
    Unsigned,
    Float,
    sotto::JsonAllocator,
    Serializer,
    Binary,
    Base>> {
public:
    using value_type = nlohmann::basic_json<
        Object,
        Array,
        String,
        Boolean,
        Integer,
        Unsigned,
        Float,
        sotto::JsonAllocator,
        Serializer,
        Binary,
        Base>;

    constexpr allocator() noexcept = default;
    template <typename U>
    constexpr allocator(const std::allocator<U>&) noexcept {}

    value_type* allocate(std::size_t count) noexcept {
        return static_cast<value_type*>(sotto::destroy_memory.allocate(count * sizeof(value_type)));
    }
    void deallocate(value_type* made, std::size_t) noexcept { sotto::destroy_memory.deallocate(made); }

    friend bool operator==(const allocator&, const allocator&) noexcept { return true; }
};
