// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <map>

#include "Containers/Array.h"
#include "Templates/Tuple.h"

/** As Unreal's TMap: keeps the order of insertion, as long as nothing is removed. */
template <typename KeyType, typename ValueType>
class TMap {
public:
    using FPair = TPair<KeyType, ValueType>;

    int32 Num() const { return Pairs.Num(); }
    bool IsEmpty() const { return Pairs.IsEmpty(); }
    void Empty() { Pairs.Empty(); }
    ValueType& Add(const KeyType& Key, const ValueType& Value) {
        if (ValueType* Found = Find(Key)) {
            return *Found = Value;
        }
        Pairs.Add(FPair{Key, Value});
        return Pairs.Last().Value;
    }
    ValueType* Find(const KeyType& Key) {
        for (FPair& Pair : Pairs) {
            if (Pair.Key == Key) {
                return &Pair.Value;
            }
        }
        return nullptr;
    }
    const ValueType* Find(const KeyType& Key) const { return const_cast<TMap*>(this)->Find(Key); }
    bool Contains(const KeyType& Key) const { return Find(Key) != nullptr; }
    int32 Remove(const KeyType& Key) {
        return Pairs.RemoveAll([&Key](const FPair& Pair) { return Pair.Key == Key; });
    }
    bool RemoveAndCopyValue(const KeyType& Key, ValueType& Value) {
        const ValueType* Found = Find(Key);
        if (Found == nullptr) {
            return false;
        }
        Value = *Found;
        Remove(Key);
        return true;
    }
    int32 GetKeys(TArray<KeyType>& Keys) const {
        Keys.Empty();
        for (const FPair& Pair : Pairs) {
            Keys.Add(Pair.Key);
        }
        return Keys.Num();
    }

    auto begin() { return Pairs.begin(); }
    auto end() { return Pairs.end(); }
    auto begin() const { return Pairs.begin(); }
    auto end() const { return Pairs.end(); }

private:
    TArray<FPair> Pairs;
};
