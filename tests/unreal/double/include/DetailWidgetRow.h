// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Widgets/SWidget.h"

class FDetailWidgetDecl {
public:
    FDetailWidgetDecl& operator[](const TSharedRef<SWidget>& Widget) {
        DoubleContent = Widget;
        return *this;
    }
    TSharedPtr<SWidget> DoubleContent;
};

class FDetailWidgetRow {
public:
    FDetailWidgetDecl& WholeRowContent() { return Content; }

private:
    FDetailWidgetDecl Content;
};
