// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "DetailCategoryBuilder.h"

class IDetailLayoutBuilder {
public:
    IDetailCategoryBuilder& EditCategory(FName) { return DoubleCategory; }
    void GetObjectsBeingCustomized(TArray<TWeakObjectPtr<UObject>>& Out) const { Out = DoubleObjects; }

    IDetailCategoryBuilder DoubleCategory;
    TArray<TWeakObjectPtr<UObject>> DoubleObjects;
};
