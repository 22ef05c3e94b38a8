// Double of Unreal: see tests/unreal/double/README.md. Widgets keep their content for tests; nothing is
// drawn.
#pragma once

#include "CoreMinimal.h"
#include "Widgets/DeclarativeSyntaxSupport.h"

class SWidget {
public:
    virtual ~SWidget() = default;
    TArray<TSharedPtr<SWidget>> DoubleChildren;
};
