// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <cstddef>

/** A pointer to an object, for members. Only UPROPERTY() keeps the object alive. */
template <typename T>
class TObjectPtr {
public:
    TObjectPtr() = default;
    TObjectPtr(std::nullptr_t) {}
    TObjectPtr(T* Object) : Held(Object) {}
    T* Get() const { return Held; }
    operator T*() const { return Held; }
    T* operator->() const { return Held; }
    T& operator*() const { return *Held; }
    explicit operator bool() const { return Held != nullptr; }

private:
    T* Held = nullptr;
};
