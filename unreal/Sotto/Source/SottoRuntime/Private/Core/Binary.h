#pragma once

#include <string>
#include <string_view>

namespace SottoCore
{

/**
 * Returns what a library file is built for, such as "Linux (ELF), aarch64", from its first bytes.
 *
 * Returns an empty string for a file that is neither an ELF nor a Windows (PE) library, or for too few bytes.
 * 1,024 bytes suffice for libraries of common linkers.
 */
std::string DescribeBinary(std::string_view Head);

} // namespace SottoCore
