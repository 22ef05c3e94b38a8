#include "Core/Sheet.h"

namespace SottoCore
{

namespace
{

std::string OneLine(std::string Text)
{
    for (char& Letter : Text)
    {
        Letter = Letter == '\n' || Letter == '\r' ? ' ' : Letter;
    }
    return Text;
}

} // namespace

std::string WriteSheet(const std::vector<FSheetLine>& Lines)
{
    std::string Sheet;
    for (const FSheetLine& Line : Lines)
    {
        if (Line.Text.empty() && Line.Items.empty())
        {
            continue;
        }
        Sheet += (Sheet.empty() ? "" : "\n") + Line.Title + ":";
        Sheet += Line.Items.empty() ? " " + OneLine(Line.Text) : "";
        for (const std::string& Item : Line.Items)
        {
            Sheet += "\n- " + OneLine(Item);
        }
    }
    return Sheet;
}

} // namespace SottoCore
