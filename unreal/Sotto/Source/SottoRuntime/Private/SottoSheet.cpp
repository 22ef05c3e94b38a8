#include "SottoSheet.h"

#include "Core/Sheet.h"
#include "SottoConvert.h"

static SottoCore::FSheetLine SottoListLine(const char* Title, const TArray<FString>& Items)
{
    SottoCore::FSheetLine Line{Title, {}, {}};
    for (const FString& Item : Items)
    {
        Line.Items.push_back(SottoToUtf8(Item));
    }
    return Line;
}

FString USottoSheet::ToSystemMessage() const
{
    if (!Prose.IsEmpty())
    {
        return Prose;
    }
    // The order that the house model was trained on.
    std::vector<SottoCore::FSheetLine> Written = {
        {"Name", SottoToUtf8(Name), {}},
        {"Role", SottoToUtf8(Role), {}},
        {"Manner", SottoToUtf8(Manner), {}},
        {"Place", SottoToUtf8(Place), {}},
        {"Mood", SottoToUtf8(Mood), {}},
        SottoListLine("Prices", Prices),
        SottoListLine("Rumours", Rumours),
        SottoListLine("Facts", Facts),
    };
    for (const FSottoSheetLine& Line : Lines)
    {
        SottoCore::FSheetLine More = SottoListLine("", Line.Items);
        More.Title = SottoToUtf8(Line.Title);
        More.Text = SottoToUtf8(Line.Text);
        Written.push_back(More);
    }
    return SottoToString(SottoCore::WriteSheet(Written));
}
