// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

template <typename KeyType, typename ValueType>
struct TPair {
    KeyType Key;
    ValueType Value;
};
