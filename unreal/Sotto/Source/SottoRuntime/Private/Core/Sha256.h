#pragma once

#include <string>
#include <string_view>

namespace SottoCore
{

/** Returns the SHA-256 of a text as 64 hexadecimal digits in lower case. */
std::string Sha256(std::string_view Text);

} // namespace SottoCore
