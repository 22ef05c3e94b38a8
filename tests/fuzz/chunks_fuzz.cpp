// Fuzzes the reader of a server's answer: the same parts for every split, which parse into JSON.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "backends/proxy/answer_parser.hpp"
#include "backends/proxy/chunk_reader.hpp"

namespace {

using namespace sotto::proxy;

struct Read {
    std::string raw;
    std::string deltas;
    std::string failure;

    bool operator==(const Read&) const = default;
};

Read read(std::string_view bytes, std::size_t size, bool chat, bool events) {
    ChunkReader reader(chat);
    reader.begin(events);
    std::vector<Piece> pieces;
    Read all;
    try {
        for (; !bytes.empty() && !reader.is_done(); bytes.remove_prefix(std::min(bytes.size(), size))) {
            reader.feed(bytes.substr(0, size), pieces);
        }
        reader.finish(pieces);
    } catch (const sotto::Error& error) { // only this type may be thrown
        all.failure = error.what();
    }
    AnswerParser parser;
    for (auto& piece : pieces) {
        if (!piece.calls.empty()) {
            parser.add_calls(std::move(piece.calls));
        }
        all.raw += piece.text;
    }
    all.deltas = parser.parse(all.raw);
    if (!Json::parse(all.deltas).is_array()) {
        std::abort();
    }
    return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    // The first byte selects the split, the operation and the form.
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const bool chat = (data[0] & 1) != 0;
    const bool events = (data[0] & 2) != 0;
    const auto whole = read(bytes, bytes.size() + 1, chat, events);
    if (whole != read(bytes, 1, chat, events) || whole != read(bytes, 1 + data[0] % 13, chat, events)) {
        std::abort();
    }
    return 0;
}
