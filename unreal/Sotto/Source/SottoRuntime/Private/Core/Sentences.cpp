#include "Core/Sentences.h"

#include <algorithm>
#include <array>

namespace SottoCore
{

namespace
{

constexpr std::array<std::string_view, 14> kAbbreviations = {
    "mr", "mrs", "ms", "dr", "st", "prof", "sr", "jr", "capt", "sgt", "lt", "e.g", "i.e", "vs"
};

struct FChar
{
    char32_t Code = 0;
    size_t Size = 1;
};

FChar ReadChar(std::string_view Text, size_t At)
{
    const auto First = static_cast<unsigned char>(Text[At]);
    const size_t Size = First < 0xC0 ? 1 : First < 0xE0 ? 2 : First < 0xF0 ? 3 : 4;
    if (Size == 1 || At + Size > Text.size())
    {
        return {First, 1};
    }
    char32_t Code = First & (0xFFU >> (Size + 1));
    for (size_t i = 1; i < Size; ++i)
    {
        Code = Code << 6 | (static_cast<unsigned char>(Text[At + i]) & 0x3FU);
    }
    return {Code, Size};
}

bool IsSpace(char32_t Code)
{
    return Code == ' ' || Code == '\t' || Code == '\r' || Code == '\n' || Code == 0xA0 || Code == 0x3000;
}

bool EndsWithoutSpace(char32_t Code)
{
    return Code == 0x3002 || Code == 0xFF01 || Code == 0xFF1F;
}

bool IsEnd(char32_t Code)
{
    // Ellipsis; Arabic question mark; Urdu full stop; Devanagari danda.
    return Code == '.' || Code == '!' || Code == '?' || Code == 0x2026 || Code == 0x61F || Code == 0x6D4 ||
           Code == 0x964 || EndsWithoutSpace(Code);
}

bool IsClosing(char32_t Code)
{
    return Code == '"' || Code == '\'' || Code == ')' || Code == ']' || Code == '}' || Code == '*' ||
           Code == 0x201D || Code == 0x2019 || Code == 0xBB || Code == 0x300D || Code == 0x300F ||
           Code == 0x200F || Code == 0x200E;
}

bool IsAbbreviation(std::string_view Text, size_t Dot)
{
    const size_t Space = Text.substr(0, Dot).find_last_of(" \t\n(\"'");
    const size_t Begin = Space == std::string_view::npos ? 0 : Space + 1;
    std::string Word(Text.substr(Begin, Dot - Begin));
    if (Word.size() == 1 && Word[0] >= 'A' && Word[0] <= 'Z')
    {
        return Word[0] != 'I'; // "So do I." ends a sentence
    }
    std::transform(
        Word.begin(),
        Word.end(),
        Word.begin(),
        [](char Letter) { return Letter >= 'A' && Letter <= 'Z' ? static_cast<char>(Letter + 32) : Letter; }
    );
    return std::find(kAbbreviations.begin(), kAbbreviations.end(), Word) != kAbbreviations.end();
}

/** Returns the end of the first sentence of `Text`, or 0 if more text could still belong to that sentence. */
size_t FindEnd(std::string_view Text)
{
    for (size_t At = 0; At < Text.size();)
    {
        const FChar Mark = ReadChar(Text, At);
        size_t Next = At + Mark.Size;
        if (Mark.Code == '\n')
        {
            return Next;
        }
        if (!IsEnd(Mark.Code) || (Mark.Code == '.' && IsAbbreviation(Text, At)))
        {
            At = Next;
            continue;
        }
        char32_t Last = Mark.Code;
        while (Next < Text.size())
        {
            const FChar After = ReadChar(Text, Next);
            if (!IsEnd(After.Code) && !IsClosing(After.Code))
            {
                break;
            }
            Last = IsEnd(After.Code) ? After.Code : Last;
            Next += After.Size;
        }
        if (Next >= Text.size())
        {
            return 0; // a closing quote may follow
        }
        if (EndsWithoutSpace(Last) || IsSpace(ReadChar(Text, Next).Code))
        {
            return Next;
        }
        At = Next;
    }
    return 0;
}

/** Returns `Text` without the white space at its ends: that of IsSpace(). */
std::string_view Trimmed(std::string_view Text)
{
    size_t First = Text.size();
    size_t End = 0;
    for (size_t At = 0; At < Text.size();)
    {
        const FChar Char = ReadChar(Text, At);
        if (!IsSpace(Char.Code))
        {
            First = std::min(First, At);
            End = At + Char.Size;
        }
        At += Char.Size;
    }
    return Text.substr(First, End - std::min(First, End));
}

} // namespace

void FSentences::Cut(size_t End, std::vector<std::string>& Sentences)
{
    const std::string_view Sentence = Trimmed(std::string_view(Pending).substr(0, End));
    if (!Sentence.empty())
    {
        Sentences.emplace_back(Sentence);
    }
    Pending.erase(0, End);
}

void FSentences::Feed(std::string_view Text, std::vector<std::string>& Sentences)
{
    Pending += Text;
    for (size_t End = FindEnd(Pending); End != 0; End = FindEnd(Pending))
    {
        Cut(End, Sentences);
    }
}

void FSentences::Finish(std::vector<std::string>& Sentences)
{
    Cut(Pending.size(), Sentences);
}

} // namespace SottoCore
