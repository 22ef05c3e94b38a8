// Fuzzes the stop matcher: its output is the same for every split, and contains no stop sequence.
//
// The input consists of sequences, each up to a newline, then an empty line, then the text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "text/stop_matcher.hpp"

namespace {

std::string shown(const std::vector<std::string>& stops, std::string_view text, std::size_t piece) {
    sotto::StopMatcher matcher(stops);
    std::string out;
    while (!text.empty()) {
        const auto length = std::min(text.size(), piece);
        if (matcher.feed(text.substr(0, length), out)) {
            return out;
        }
        text.remove_prefix(length);
    }
    matcher.finish(out);
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> stops;
    while (stops.size() < 16) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.empty()) {
            break;
        }
        stops.emplace_back(line);
    }
    const auto whole = shown(stops, rest, rest.size() + 1);
    bool good = rest.substr(0, whole.size()) == whole;
    for (const std::size_t piece : {1, 2, 3, 7}) {
        good = good && shown(stops, rest, piece) == whole;
    }
    for (const auto& stop : stops) {
        good = good && whole.find(stop) == std::string::npos;
    }
    if (!good) {
        std::abort();
    }
    return 0;
}
