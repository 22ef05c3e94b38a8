#include "Core/Binary.h"

#include <cstddef>
#include <cstdint>

namespace SottoCore
{

namespace
{

uint32_t Number(std::string_view Bytes, size_t At, size_t Size)
{
    uint32_t Read = 0;
    for (size_t i = Size; i-- > 0;)
    {
        Read = Read << 8 | static_cast<unsigned char>(Bytes[At + i]);
    }
    return Read;
}

std::string Machine(uint32_t X64, uint32_t Arm64, uint32_t Found)
{
    if (Found == X64)
    {
        return "x86-64";
    }
    return Found == Arm64 ? "aarch64" : "machine type " + std::to_string(Found);
}

} // namespace

std::string DescribeBinary(std::string_view Head)
{
    if (Head.size() >= 20 && Head.substr(0, 4) == "\x7f"
                                                  "ELF")
    {
        return "Linux (ELF), " + Machine(62, 183, Number(Head, 18, 2));
    }
    if (Head.size() >= 64 && Head.substr(0, 2) == "MZ")
    {
        const size_t Pe = Number(Head, 60, 4);
        if (Pe <= Head.size() - 6 && Head.substr(Pe, 2) == "PE")
        {
            return "Windows (PE), " + Machine(0x8664, 0xAA64, Number(Head, Pe + 4, 2));
        }
    }
    return {};
}

} // namespace SottoCore
