// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "CoreTypes.h"

template <typename T>
class TArray {
public:
    TArray() = default;
    TArray(std::initializer_list<T> Elements) : Held(Elements) {}

    int32 Num() const { return static_cast<int32>(Held.size()); }
    bool IsEmpty() const { return Held.empty(); }
    bool IsValidIndex(int32 Index) const { return Index >= 0 && Index < Num(); }
    T* GetData() { return Held.data(); }
    const T* GetData() const { return Held.data(); }
    T& operator[](int32 Index) { return Held.at(static_cast<std::size_t>(Index)); }
    const T& operator[](int32 Index) const { return Held.at(static_cast<std::size_t>(Index)); }
    T& Last() { return Held.back(); }

    int32 Add(const T& Element) {
        Held.push_back(Element);
        return Num() - 1;
    }
    int32 Add(T&& Element) {
        Held.push_back(std::move(Element));
        return Num() - 1;
    }
    int32 AddUnique(const T& Element) {
        const int32 Index = Find(Element);
        return Index == INDEX_NONE ? Add(Element) : Index;
    }
    int32 Find(const T& Element) const {
        const auto Found = std::find(Held.begin(), Held.end(), Element);
        return Found == Held.end() ? INDEX_NONE : static_cast<int32>(Found - Held.begin());
    }
    bool Contains(const T& Element) const { return Find(Element) != INDEX_NONE; }
    int32 Remove(const T& Element) {
        return RemoveAll([&Element](const T& Other) { return Other == Element; });
    }
    template <typename PredicateType>
    int32 RemoveAll(const PredicateType& Predicate) {
        const auto First = std::remove_if(Held.begin(), Held.end(), Predicate);
        const auto Removed = static_cast<int32>(Held.end() - First);
        Held.erase(First, Held.end());
        return Removed;
    }
    void RemoveAt(int32 Index) { Held.erase(Held.begin() + Index); }
    void Empty() { Held.clear(); }
    void Reset() { Held.clear(); }
    void Append(const T* First, int32 Count) { Held.insert(Held.end(), First, First + Count); }
    void Append(const TArray& Other) { Held.insert(Held.end(), Other.Held.begin(), Other.Held.end()); }
    void Sort() { std::sort(Held.begin(), Held.end()); }
    bool operator==(const TArray& Other) const { return Held == Other.Held; }

    auto begin() { return Held.begin(); }
    auto end() { return Held.end(); }
    auto begin() const { return Held.begin(); }
    auto end() const { return Held.end(); }

private:
    std::vector<T> Held;
};
