// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "DetailWidgetRow.h"

class IDetailCategoryBuilder {
public:
    FDetailWidgetRow& AddCustomRow(const FText&) { return DoubleRow; }
    FDetailWidgetRow DoubleRow;
};
