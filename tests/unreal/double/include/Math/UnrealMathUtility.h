// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

struct FMath {
    template <typename T>
    static T Min(T A, T B) {
        return A < B ? A : B;
    }
    template <typename T>
    static T Max(T A, T B) {
        return A < B ? B : A;
    }
};
