#include "Core/Names.h"

#include <cstdint>

namespace SottoCore
{

namespace
{

/** FNV-1a, 64 bits, as 16 hexadecimal digits. The same in every build: names are kept in saved games. */
std::string Hash(const std::string& Text)
{
    uint64_t Value = 0xcbf29ce484222325;
    for (const char Letter : Text)
    {
        Value = (Value ^ static_cast<unsigned char>(Letter)) * 0x100000001b3;
    }
    std::string Digits(16, '0');
    for (size_t At = Digits.size(); At-- > 0; Value >>= 4)
    {
        Digits[At] = "0123456789abcdef"[Value & 15];
    }
    return Digits;
}

} // namespace

std::string FitName(const std::string& Name)
{
    if (Name.size() <= kMaxName)
    {
        return Name;
    }
    const std::string Prefix = Hash(Name) + ".";
    size_t First = Name.size() - (kMaxName - Prefix.size());
    while (First < Name.size() && (static_cast<unsigned char>(Name[First]) & 0xC0) == 0x80)
    {
        ++First; // not in the middle of a character
    }
    return Prefix + Name.substr(First);
}

} // namespace SottoCore
