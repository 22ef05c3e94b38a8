// Fuzzes the reader of save games.
//
// Each input is used as it is; with corrected checksums, so that more than the checksums is tested; and as
// the payload of each part of a file that is otherwise whole.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/game/game_format.hpp"
#include "core/game/game_reader.hpp"
#include "text/utf8_stream.hpp"

namespace {

using namespace sotto;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

class Memory : public FileReader {
public:
    explicit Memory(std::string_view bytes) : bytes_(bytes) { size_ = bytes.size(); }
    void read(std::uint64_t offset, char* out, std::size_t count) override {
        require(offset <= bytes_.size() && count <= bytes_.size() - offset);
        std::copy_n(
            bytes_.data() + offset, count, out
        ); // unlike memcpy, with a null `out` where `count` is 0
    }

private:
    std::string_view bytes_;
};

// Returns true if the save game was accepted.
bool read(std::string_view bytes) {
    try {
        Memory file(bytes);
        GameCounts counts;
        GameReader reader(file, {}, [](float done) { require(done >= 0 && done <= 1); });
        const auto state = reader.read(counts);
        require(state.sessions.size() == counts.sessions && counts.bytes == bytes.size());
        for (const auto& session : state.sessions) {
            require(!session.id.empty() && session.id.size() <= 128);
            require(session.talk.messages.size() <= bytes.size());
        }
        return true;
    } catch (const Error& error) { // only this type may be thrown
        const std::string_view why = error.what();
        require(error.status() == SOTTO_ERROR_MODEL);
        require(!why.empty() && why.size() < 2000);
        require(is_utf8(why) && why.find('\n') == std::string_view::npos);
        return false;
    }
}

std::string chunk(std::uint32_t type, std::uint32_t flags, std::string_view payload, std::string& sums) {
    std::string bytes;
    game::put(bytes, type);
    game::put(bytes, flags);
    game::put(bytes, static_cast<std::uint64_t>(payload.size()));
    const auto sum = game::checksum({bytes, payload});
    game::put(bytes, sum);
    game::put(sums, sum);
    return bytes.append(payload);
}

std::string ended(std::string file, std::string sums) {
    std::string end;
    game::put(end, static_cast<std::uint64_t>(sums.size() / 8));
    game::put(end, game::checksum({sums}));
    return file + chunk(game::kDone, game::kRequired, end, sums);
}

std::string header() {
    std::string file(game::kMagic);
    game::put(file, game::kVersion);
    game::put(file, std::uint32_t{0});
    return file;
}

// Returns the parts of a file with their true checksums, and a true end.
std::string repaired(std::string_view input) {
    auto file = header();
    std::string sums;
    for (std::size_t at = game::kFileHeader; at + game::kChunkHeader <= input.size();) {
        const auto type = game::get<std::uint32_t>(input, at);
        const auto rest = input.size() - at - game::kChunkHeader;
        const auto size = std::min<std::uint64_t>(game::get<std::uint64_t>(input, at + 8), rest);
        if (type != game::kDone) {
            const auto flags = game::get<std::uint32_t>(input, at + 4);
            file += chunk(type, flags, input.substr(at + game::kChunkHeader, size), sums);
        }
        at += game::kChunkHeader + size;
    }
    return ended(std::move(file), std::move(sums));
}

constexpr std::uint32_t kUnknown = game::type_of("WHAT"); // a part that this library does not know

std::string with_part(std::uint32_t type, std::string_view payload) {
    auto file = header();
    std::string sums;
    const std::string message = R"({"role":"user","content":"hi"})";
    std::string messages;
    game::put(messages, static_cast<std::uint32_t>(message.size()));
    file += chunk(game::kMessages, game::kRequired, messages + message, sums);
    file += chunk(game::kSession, game::kRequired, R"({"id":"a","model":"m","messages":[0,0]})", sums);
    file += chunk(type, 0, payload, sums);
    return ended(std::move(file), std::move(sums));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    read(input);
    read(repaired(input));
    for (const auto type : {game::kMessages, game::kSession, game::kResponse, game::kKvState, game::kFile}) {
        read(with_part(type, input));
    }
    require(read(with_part(kUnknown, input)));
    const auto whole = with_part(kUnknown, input);
    const auto cut = size == 0 ? 0 : data[0] * whole.size() / 256;
    require(!read(std::string_view(whole).substr(0, cut)));
    return 0;
}
