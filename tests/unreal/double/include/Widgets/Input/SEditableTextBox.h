// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Types/SlateEnums.h"
#include "Widgets/SWidget.h"

class SEditableTextBox : public SWidget {
public:
    TFunction<void(const FText&, ETextCommit::Type)> DoubleCommit;

    class FArguments : public TDoubleArguments<SEditableTextBox, FArguments> {
    public:
        FArguments& HintText(const FText&) { return *this; }
        FArguments& ClearTextSelectionOnFocusLoss(bool) { return *this; }
        template <typename UserClass>
        FArguments&
        OnTextCommitted(UserClass* User, void (UserClass::*Method)(const FText&, ETextCommit::Type)) {
            Widget->DoubleCommit = [User, Method](const FText& Text, ETextCommit::Type Type) {
                (User->*Method)(Text, Type);
            };
            return *this;
        }
    };
};
