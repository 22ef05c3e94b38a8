// A smart pointer for COM objects of Direct3D and DXGI. For gpu/*_windows.cpp.
#pragma once

#if !defined(_MSC_VER)
#  define WIDL_EXPLICIT_AGGREGATE_RETURNS // makes MinGW declare methods that return structs with MSVC's ABI
#endif
#include "platform/windows.hpp"

#include <cstdint>
#include <utility>

namespace sotto::gpu {

// Owns one reference to a COM object.
template <typename T>
class Com {
public:
    Com() = default;
    ~Com() { reset(); }
    Com(Com&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Com& operator=(Com&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }

    T* get() const noexcept { return object_; }
    T* operator->() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    // Releases the object and returns the address for a function's out-parameter.
    T** out() noexcept {
        reset();
        return &object_;
    }
    void** out_void() noexcept { return reinterpret_cast<void**>(out()); }

private:
    void reset() noexcept {
        if (T* object = std::exchange(object_, nullptr)) {
            object->Release();
        }
    }
    T* object_ = nullptr;
};

// Packs a LUID as in sotto/gpu.h: LowPart in the lower 32 bits, HighPart in the upper.
inline std::uint64_t number_of(LUID luid) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(luid.HighPart)) << 32 | luid.LowPart;
}

} // namespace sotto::gpu
