// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "HAL/Platform.h"

class UObject;

/** Returns the number of an object, or -1 for null. Numbers are never used twice. */
int64 DoubleObjectNumber(const UObject* Object);
/** Returns the live object of a number, or null if it is destroyed or garbage. */
UObject* DoubleFindObject(int64 Number);

/** A pointer that is null once its object is destroyed or marked as garbage. */
template <typename T>
class TWeakObjectPtr {
public:
    TWeakObjectPtr() = default;
    TWeakObjectPtr(std::nullptr_t) {}
    TWeakObjectPtr(T* Object) : Number(DoubleObjectNumber(Object)) {}
    T* Get() const { return static_cast<T*>(DoubleFindObject(Number)); }
    bool IsValid() const { return DoubleFindObject(Number) != nullptr; }
    void Reset() { Number = -1; }
    T* operator->() const { return Get(); }
    explicit operator bool() const { return IsValid(); }

private:
    int64 Number = -1;
};
