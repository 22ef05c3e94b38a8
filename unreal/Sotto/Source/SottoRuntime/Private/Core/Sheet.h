#pragma once

#include <string>
#include <vector>

namespace SottoCore
{

/** A character sheet: a title and its text, or a title and a list. */
struct FSheetLine
{
    std::string Title;
    std::string Text;               // one line, used if `Items` is empty
    std::vector<std::string> Items; // a list under the title
};

/**
 * Returns the sheet as a system message: `Title: text`, or `Title:` and one `- item` a line.
 *
 * Lines without text and items are left out. Line breaks inside a text become spaces, so that no text can add
 * a line of its own.
 */
std::string WriteSheet(const std::vector<FSheetLine>& Lines);

} // namespace SottoCore
