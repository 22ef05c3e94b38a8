// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "UObject/Object.h"

template <typename T>
T* Cast(UObject* Object) {
    return Object != nullptr && Object->IsA(T::StaticClass()) ? static_cast<T*>(Object) : nullptr;
}
