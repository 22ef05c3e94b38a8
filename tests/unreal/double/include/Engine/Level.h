// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "UObject/Object.h"

/** A level of a world: the persistent one, or one that is streamed. Its actors are its objects. */
class ULevel : public UObject {
    DOUBLE_CLASS_BODY(ULevel, UObject, {}, {})
public:
    UWorld* GetWorld() const override { return OwningWorld; }
    /** Returns true for a cell that World Partition generated. */
    bool IsWorldPartitionRuntimeCell() const { return bDoubleCell; }

    UWorld* OwningWorld = nullptr; // which owns the level
    bool bDoubleCell = false;
};
