// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <memory>

/** As std::shared_ptr, with Unreal's names. */
template <typename T>
class TSharedPtr {
public:
    TSharedPtr() = default;
    TSharedPtr(std::nullptr_t) {}
    explicit TSharedPtr(T* Owned) : Held(Owned) {}
    template <typename U>
    TSharedPtr(const TSharedPtr<U>& Other) : Held(Other.Shared()) {}

    T* Get() const { return Held.get(); }
    bool IsValid() const { return Held != nullptr; }
    void Reset() { Held.reset(); }
    explicit operator bool() const { return IsValid(); }
    T* operator->() const { return Held.get(); }
    T& operator*() const { return *Held; }
    const std::shared_ptr<T>& Shared() const { return Held; }

private:
    std::shared_ptr<T> Held;
};

/** A shared pointer that is never null. */
template <typename T>
class TSharedRef {
public:
    TSharedRef(const TSharedPtr<T>& Other) : Held(Other) {}
    template <typename U>
    TSharedRef(const TSharedRef<U>& Other) : Held(Other.ToSharedPtr()) {}
    T& Get() const { return *Held; }
    T* operator->() const { return Held.Get(); }
    T& operator*() const { return *Held; }
    TSharedPtr<T> ToSharedPtr() const { return Held; }
    operator TSharedPtr<T>() const { return Held; }

private:
    TSharedPtr<T> Held;
};

template <typename T, typename... ArgTypes>
TSharedRef<T> MakeShared(ArgTypes&&... Args) {
    return TSharedRef<T>(TSharedPtr<T>(new T(std::forward<ArgTypes>(Args)...)));
}
