#include "SottoSheet.h"

#include <algorithm>

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

/** Appends texts as further items of the line with a title; adds the line if there is none. */
static void
SottoAppend(std::vector<SottoCore::FSheetLine>& Lines, const char* Title, const TArray<FString>& Items)
{
    if (Items.IsEmpty())
    {
        return;
    }
    const auto Found = std::find_if(
        Lines.begin(), Lines.end(), [Title](const SottoCore::FSheetLine& Line) { return Line.Title == Title; }
    );
    const SottoCore::FSheetLine More = SottoListLine(Title, Items);
    if (Found == Lines.end())
    {
        Lines.push_back(More);
        return;
    }
    if (Found->Items.empty() && !Found->Text.empty())
    {
        Found->Items.push_back(Found->Text);
    }
    Found->Items.insert(Found->Items.end(), More.Items.begin(), More.Items.end());
}

FString USottoSheet::ToSystemMessage() const
{
    return ToSystemMessageWith(TArray<FString>(), TArray<FString>());
}

FString
USottoSheet::ToSystemMessageWith(const TArray<FString>& MoreFacts, const TArray<FString>& MoreMemories) const
{
    if (!Prose.IsEmpty())
    {
        const std::string Recalled = SottoCore::WriteSheet(
            {SottoListLine("Facts", MoreFacts), SottoListLine("Memories", MoreMemories)}
        );
        return Recalled.empty() ? Prose : Prose + TEXT("\n") + SottoToString(Recalled);
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
    SottoAppend(Written, "Facts", MoreFacts);
    for (const FSottoSheetLine& Line : Lines)
    {
        SottoCore::FSheetLine More = SottoListLine("", Line.Items);
        More.Title = SottoToUtf8(Line.Title);
        More.Text = SottoToUtf8(Line.Text);
        Written.push_back(More);
    }
    SottoAppend(Written, "Memories", MoreMemories);
    return SottoToString(SottoCore::WriteSheet(Written));
}

FString USottoSheet::GetVisitor() const
{
    for (const FSottoSheetLine& Line : Lines)
    {
        if (Line.Title.Equals(TEXT("Visitor"), ESearchCase::CaseSensitive))
        {
            return Line.Text;
        }
    }
    return FString();
}
