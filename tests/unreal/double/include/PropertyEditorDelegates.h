// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Delegates/Delegate.h"
#include "Templates/SharedPointer.h"

class IDetailCustomization;

DECLARE_DELEGATE_RetVal(TSharedRef<IDetailCustomization>, FOnGetDetailCustomizationInstance);
