// Fuzzes the UTF-8 stream: its output is UTF-8, and the same for every split.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/utf8_stream.hpp"

namespace {

std::string read(std::string_view bytes, std::size_t piece) {
    sotto::Utf8Stream stream;
    std::string out;
    while (!bytes.empty()) {
        const auto length = std::min(bytes.size(), piece);
        stream.feed(bytes.substr(0, length), out);
        bytes.remove_prefix(length);
    }
    stream.finish(out);
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view bytes(
        reinterpret_cast<const char*>(data) + 1, size - 1
    ); // the first byte selects the split
    const auto whole = read(bytes, bytes.size() + 1);
    const bool same = whole == read(bytes, 1) && whole == read(bytes, 1 + data[0] % 7);
    if (!same || !sotto::is_utf8(whole) || sotto::is_utf8(bytes) != (whole == bytes)) {
        std::abort();
    }
    return 0;
}
