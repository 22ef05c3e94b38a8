// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "UObject/Class.h"
#include "UObject/NameTypes.h"
#include "UObject/ObjectMacros.h"

class UPackage;

UPackage* GetTransientPackage();

/** Destroys every object that no root refers to. Calls BeginDestroy() of all of them first. */
void CollectGarbage(EObjectFlags KeepFlags, bool bFullPurge = true);

/** Makes an object. No outer: in the transient package. */
UObject* DoubleNewObject(UObject* Outer, UClass* Class, FName Name);

template <typename T>
T* NewObject(UObject* Outer = nullptr, UClass* Class = T::StaticClass(), FName Name = FName()) {
    return static_cast<T*>(DoubleNewObject(Outer, Class, Name));
}
