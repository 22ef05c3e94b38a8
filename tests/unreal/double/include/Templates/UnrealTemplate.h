// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <type_traits>
#include <utility>

template <typename T>
constexpr std::remove_reference_t<T>&& MoveTemp(T&& Value) {
    return static_cast<std::remove_reference_t<T>&&>(Value);
}

template <typename T>
constexpr T&& Forward(std::remove_reference_t<T>& Value) {
    return static_cast<T&&>(Value);
}
