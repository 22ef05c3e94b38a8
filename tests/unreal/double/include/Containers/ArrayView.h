// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Containers/Array.h"

/** Non-owning view of an array. */
template <typename T>
class TArrayView {
public:
    TArrayView() = default;
    TArrayView(T* First, int32 Count) : Data(First), Size(Count) {}
    template <typename U>
    TArrayView(const TArray<U>& Array) : Data(Array.GetData()), Size(Array.Num()) {}
    template <std::size_t N>
    TArrayView(T (&Array)[N]) : Data(Array), Size(static_cast<int32>(N)) {}

    int32 Num() const { return Size; }
    T* begin() const { return Data; }
    T* end() const { return Data + Size; }

private:
    T* Data = nullptr;
    int32 Size = 0;
};

template <typename T>
using TConstArrayView = TArrayView<const T>;
