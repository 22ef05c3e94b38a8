#include "Core/Json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "Core/Request.h"

namespace SottoCore
{

FJsonObject& FJsonObject::Raw(std::string_view Name, std::string_view Value)
{
    Members += (Members.empty() ? "" : ", ") + Quote(Api, Name) + ": ";
    Members += Value;
    return *this;
}

FJsonObject& FJsonObject::Text(std::string_view Name, std::string_view Value)
{
    return Raw(Name, Quote(Api, Value));
}

FJsonObject& FJsonObject::Number(std::string_view Name, double Value)
{
    return Raw(Name, WriteNumber(Value));
}

FJsonObject& FJsonObject::Integer(std::string_view Name, int64_t Value)
{
    return Raw(Name, std::to_string(Value));
}

FJsonObject& FJsonObject::Flag(std::string_view Name, bool bValue)
{
    return Raw(Name, bValue ? "true" : "false");
}

std::string WriteTexts(const FApi& Api, const std::vector<std::string>& Texts)
{
    std::string Written;
    for (const std::string& Text : Texts)
    {
        Written += (Written.empty() ? "" : ", ") + Quote(Api, Text);
    }
    return "[" + Written + "]";
}

std::string WriteBase64(std::string_view Bytes)
{
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string Written;
    Written.reserve((Bytes.size() + 2) / 3 * 4);
    for (size_t At = 0; At < Bytes.size(); At += 3)
    {
        uint32_t Group = 0;
        const size_t Count = std::min<size_t>(3, Bytes.size() - At);
        for (size_t Index = 0; Index < 3; ++Index)
        {
            Group = Group << 8 | (Index < Count ? static_cast<unsigned char>(Bytes[At + Index]) : 0);
        }
        for (size_t Index = 0; Index < 4; ++Index)
        {
            Written += Index <= Count ? kDigits[Group >> (18 - 6 * Index) & 63] : '=';
        }
    }
    return Written;
}

std::string WriteNumber(double Number)
{
    if (!std::isfinite(Number))
    {
        return "null";
    }
    char Digits[40];
    std::snprintf(Digits, sizeof(Digits), "%.17g", Number);
    std::string Written;
    for (const char* Letter = Digits; *Letter != '\0'; ++Letter)
    {
        const bool bPlain = std::string_view("0123456789-+e").find(*Letter) != std::string_view::npos;
        if (bPlain)
        {
            Written += *Letter;
        }
        else if (Written.empty() || Written.back() != '.')
        {
            Written += '.'; // the decimal mark of the process's locale, of one or more bytes
        }
    }
    return Written;
}

} // namespace SottoCore
