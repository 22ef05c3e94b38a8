#include "Core/Json.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace SottoCore
{

namespace
{

/** Returns the six bits of a base64 character, or -1. */
int Sextet(char Letter)
{
    if (Letter >= 'A' && Letter <= 'Z')
    {
        return Letter - 'A';
    }
    if (Letter >= 'a' && Letter <= 'z')
    {
        return Letter - 'a' + 26;
    }
    if (Letter >= '0' && Letter <= '9')
    {
        return Letter - '0' + 52;
    }
    return Letter == '+' ? 62 : Letter == '/' ? 63 : -1;
}

/** Appends the floats of a base64 text. Returns false if the text is not base64 of whole floats. */
bool DecodeFloats(std::string_view Text, std::vector<float>& Values)
{
    while (!Text.empty() && Text.back() == '=')
    {
        Text.remove_suffix(1);
    }
    std::string Bytes;
    uint32_t Bits = 0;
    int Count = 0;
    for (const char Letter : Text)
    {
        const int Value = Sextet(Letter);
        if (Value < 0)
        {
            return false;
        }
        Bits = Bits << 6 | static_cast<uint32_t>(Value);
        Count += 6;
        if (Count >= 8)
        {
            Count -= 8;
            Bytes += static_cast<char>(Bits >> Count & 0xFF);
        }
    }
    const size_t Added = Bytes.size() / sizeof(float);
    const size_t Before = Values.size();
    Values.resize(Before + Added);
    if (Added != 0)
    {
        std::memcpy(Values.data() + Before, Bytes.data(), Added * sizeof(float));
    }
    return Bytes.size() == Added * sizeof(float);
}

void AppendUtf8(std::string& Text, uint32_t Code)
{
    if (Code < 0x80)
    {
        Text += static_cast<char>(Code);
        return;
    }
    const int More = Code < 0x800 ? 1 : Code < 0x10000 ? 2 : 3;
    constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
    Text += static_cast<char>(kLead[More] | Code >> (6 * More));
    for (int At = More - 1; At >= 0; --At)
    {
        Text += static_cast<char>(0x80 | (Code >> (6 * At) & 0x3F));
    }
}

bool IsDigit(char Letter)
{
    return Letter >= '0' && Letter <= '9';
}

} // namespace

void FJsonReader::Fail()
{
    bFailed = true;
    At = Json.size();
}

void FJsonReader::SkipSpace()
{
    while (At < Json.size() && (Json[At] == ' ' || Json[At] == '\n' || Json[At] == '\t' || Json[At] == '\r'))
    {
        ++At;
    }
}

char FJsonReader::Peek()
{
    SkipSpace();
    return At < Json.size() ? Json[At] : '\0';
}

bool FJsonReader::Take(char Wanted)
{
    if (Peek() != Wanted || At >= Json.size())
    {
        Fail();
        return false;
    }
    ++At;
    return true;
}

bool FJsonReader::TakeWord(std::string_view Word)
{
    SkipSpace();
    if (Json.substr(At, Word.size()) != Word)
    {
        return false;
    }
    At += Word.size();
    return true;
}

void FJsonReader::Begin(char Bracket)
{
    bFirst = Take(Bracket);
}

bool FJsonReader::Next(char Closing)
{
    if (bFailed)
    {
        return false;
    }
    const bool bWasFirst = bFirst;
    bFirst = false;
    if (Peek() == Closing)
    {
        ++At;
        return false;
    }
    return bWasFirst ? At < Json.size() || Take(Closing) : Take(',');
}

bool FJsonReader::NextField(std::string& Name)
{
    if (!Next('}'))
    {
        return false;
    }
    if (Peek() != '"')
    {
        Fail();
        return false;
    }
    Name = Text();
    return Take(':');
}

uint32_t FJsonReader::Hex()
{
    uint32_t Code = 0;
    for (int i = 0; i < 4; ++i, ++At)
    {
        const char Digit = At < Json.size() ? Json[At] : '\0';
        const char Lower = static_cast<char>(Digit | 0x20);
        if (IsDigit(Digit))
        {
            Code = Code << 4 | static_cast<uint32_t>(Digit - '0');
        }
        else if (Lower >= 'a' && Lower <= 'f')
        {
            Code = Code << 4 | static_cast<uint32_t>(Lower - 'a' + 10);
        }
        else
        {
            Fail();
            return 0;
        }
    }
    return Code;
}

/** Decodes what follows a backslash. */
void FJsonReader::Escape(std::string& Value)
{
    const char Kind = At < Json.size() ? Json[At++] : '\0';
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kCodes = "\"\\/\b\f\n\r\t";
    if (Kind != '\0' && kNames.find(Kind) != std::string_view::npos)
    {
        Value += kCodes[kNames.find(Kind)];
        return;
    }
    if (Kind != 'u')
    {
        Fail();
        return;
    }
    uint32_t Code = Hex();
    if (Code >= 0xD800 && Code < 0xDC00 && Json.substr(At, 2) == "\\u")
    {
        At += 2;
        Code = 0x10000 + ((Code - 0xD800) << 10) + ((Hex() - 0xDC00) & 0x3FF);
    }
    AppendUtf8(Value, Code >= 0xD800 && Code < 0xE000 ? 0xFFFD : Code);
}

std::string FJsonReader::Text()
{
    std::string Value;
    if (TakeWord("null") || !Take('"'))
    {
        return Value;
    }
    while (At < Json.size() && Json[At] != '"')
    {
        const char Letter = Json[At++];
        if (Letter == '\\')
        {
            Escape(Value);
        }
        else
        {
            Value += Letter;
        }
    }
    Take('"');
    return bFailed ? std::string() : Value;
}

double FJsonReader::Number()
{
    if (TakeWord("null"))
    {
        return 0;
    }
    SkipSpace();
    const bool bNegative = At < Json.size() && Json[At] == '-';
    At += bNegative ? 1 : 0;
    if (At >= Json.size() || !IsDigit(Json[At]))
    {
        Fail();
        return 0;
    }
    double Value = 0;
    int Scale = 0;
    bool bFraction = false;
    for (; At < Json.size() && (IsDigit(Json[At]) || (Json[At] == '.' && !bFraction)); ++At)
    {
        if (Json[At] == '.')
        {
            bFraction = true;
            continue;
        }
        Value = Value * 10 + (Json[At] - '0');
        Scale -= bFraction ? 1 : 0;
    }
    if (At < Json.size() && (Json[At] == 'e' || Json[At] == 'E'))
    {
        ++At;
        const bool bMinus = At < Json.size() && Json[At] == '-';
        At += At < Json.size() && (Json[At] == '-' || Json[At] == '+') ? 1 : 0;
        int Exponent = 0;
        for (; At < Json.size() && IsDigit(Json[At]); ++At)
        {
            Exponent = Exponent > 9999 ? Exponent : Exponent * 10 + (Json[At] - '0');
        }
        Scale += bMinus ? -Exponent : Exponent;
    }
    Value = Scale < 0 ? Value / std::pow(10.0, -Scale) : Value * std::pow(10.0, Scale);
    return bNegative ? -Value : Value;
}

int64_t FJsonReader::Integer()
{
    const double Value = Number();
    constexpr double kMost = 9.2e18;
    return std::abs(Value) < kMost ? std::llround(Value)
           : Value < 0             ? std::numeric_limits<int64_t>::min()
                                   : std::numeric_limits<int64_t>::max();
}

bool FJsonReader::Flag()
{
    if (TakeWord("true"))
    {
        return true;
    }
    if (!TakeWord("false"))
    {
        Fail();
    }
    return false;
}

void FJsonReader::SkipString()
{
    for (++At; At < Json.size() && Json[At] != '"'; ++At)
    {
        At += Json[At] == '\\' ? 1 : 0;
    }
}

std::string_view FJsonReader::Raw()
{
    SkipSpace();
    const size_t Begun = At;
    size_t Depth = 0;
    for (; At < Json.size(); ++At)
    {
        const char Letter = Json[At];
        if (Depth == 0 && (Letter == ',' || Letter == '}' || Letter == ']'))
        {
            break;
        }
        if (Letter == '"')
        {
            SkipString();
        }
        Depth += Letter == '{' || Letter == '[' ? 1 : 0;
        Depth -= Letter == '}' || Letter == ']' ? 1 : 0;
    }
    if (Depth != 0 || At > Json.size() || At == Begun)
    {
        Fail();
        return {};
    }
    return Json.substr(Begun, At - Begun);
}

void FJsonReader::Floats(std::vector<float>& Values)
{
    if (Peek() == '"')
    {
        if (!DecodeFloats(Text(), Values))
        {
            Fail();
        }
        return;
    }
    for (BeginArray(); NextItem();)
    {
        Values.push_back(static_cast<float>(Number()));
    }
}

} // namespace SottoCore
