// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Templates/SharedPointer.h"

class SWidget;

/** What SNew() starts: sets properties of a new widget, and becomes the widget. */
template <typename WidgetType, typename ArgumentsType>
class TDoubleArguments {
public:
    operator TSharedRef<SWidget>() const { return TSharedRef<SWidget>(TSharedPtr<SWidget>(Widget)); }

protected:
    ArgumentsType& Self() { return static_cast<ArgumentsType&>(*this); }
    TSharedPtr<WidgetType> Widget{new WidgetType};
};

#define SNew(WidgetType) WidgetType::FArguments()
