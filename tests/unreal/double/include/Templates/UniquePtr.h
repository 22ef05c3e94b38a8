// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <memory>

/** As std::unique_ptr, with Unreal's names. */
template <typename T>
class TUniquePtr {
public:
    TUniquePtr() = default;
    TUniquePtr(std::nullptr_t) {}
    explicit TUniquePtr(T* Owned) : Held(Owned) {}
    template <typename U>
    TUniquePtr(TUniquePtr<U>&& Other) : Held(Other.Release()) {}

    T* Get() const { return Held.get(); }
    T* Release() { return Held.release(); }
    void Reset(T* Owned = nullptr) { Held.reset(Owned); }
    bool IsValid() const { return Held != nullptr; }
    explicit operator bool() const { return IsValid(); }
    T* operator->() const { return Held.get(); }
    T& operator*() const { return *Held; }

private:
    std::unique_ptr<T> Held;
};

template <typename T, typename... ArgTypes>
TUniquePtr<T> MakeUnique(ArgTypes&&... Args) {
    return TUniquePtr<T>(new T(std::forward<ArgTypes>(Args)...));
}
