// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Widgets/SWidget.h"

class SVerticalBox : public SWidget {
public:
    struct FSlot {
        FSlot& AutoHeight() { return *this; }
        FSlot& operator[](const TSharedRef<SWidget>& Widget) {
            Content = Widget;
            return *this;
        }
        TSharedPtr<SWidget> Content;
    };
    static FSlot Slot() { return FSlot(); }

    class FArguments : public TDoubleArguments<SVerticalBox, FArguments> {
    public:
        FArguments& operator+(const FSlot& Slot) {
            Widget->DoubleChildren.Add(Slot.Content);
            return *this;
        }
    };
};
