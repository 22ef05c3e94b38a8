// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreTypes.h"

class FDelegateHandle {
public:
    static FDelegateHandle DoubleMake();
    bool IsValid() const { return Id != 0; }
    void Reset() { Id = 0; }
    friend bool operator==(const FDelegateHandle& A, const FDelegateHandle& B) { return A.Id == B.Id; }

private:
    uint64 Id = 0;
};
