// Double of Unreal: what a compiler does with an exported class.
#pragma once

#include <type_traits>

/**
 * Instantiates the copy operations that an exported class says it has.
 *
 * MSVC instantiates every implicit member of a class with dllexport. An array of elements that cannot be
 * copied says that it can be, so that the implicit copy of a class with such a member does not compile
 * (C2280).
 */
template <typename T>
void double_export() {
    if constexpr (std::is_copy_constructible_v<T>) {
        static_cast<void>([](const T& from) { return T(from); });
    }
    if constexpr (std::is_copy_assignable_v<T>) {
        static_cast<void>([](T& to, const T& from) { to = from; });
    }
}
