// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Widgets/SWidget.h"

class STextBlock : public SWidget {
public:
    TFunction<FText()> DoubleText;

    class FArguments : public TDoubleArguments<STextBlock, FArguments> {
    public:
        FArguments& AutoWrapText(bool) { return *this; }
        template <typename UserClass>
        FArguments& Text(UserClass* User, FText (UserClass::*Method)() const) {
            Widget->DoubleText = [User, Method] { return (User->*Method)(); };
            return *this;
        }
    };
};
