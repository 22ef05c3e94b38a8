#include "core/game/game_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "core/codec/checks.hpp"
#include "core/game/game_format.hpp"
#include "request/fields.hpp"
#include "store/store_files.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

constexpr std::uint64_t kMaxGameText = std::uint64_t{1} << 30; // bytes of a chunk that is read as a whole
constexpr std::size_t kMaxId = 128;
constexpr std::size_t kGamePiece = 1 << 20;

[[noreturn]] void refuse_game(const std::string& why) {
    throw Error(SOTTO_ERROR_MODEL, "the save game " + why);
}

[[noreturn]] void damaged_game(const std::string& why) {
    refuse_game("is damaged: " + why + "; use an earlier one");
}

std::string game_text(const Fields& object, const char* key, std::size_t min, std::size_t max) {
    const Json* text = object.find(key);
    const bool fits = text != nullptr && text->is_string() &&
                      text->get_ref<const std::string&>().size() >= min &&
                      text->get_ref<const std::string&>().size() <= max;
    if (!fits) {
        damaged_game(
            std::string(key) + " is no text of " + std::to_string(min) + " to " + std::to_string(max) +
            " bytes"
        );
    }
    return text->get<std::string>();
}

// Runs `read`, which reads JSON of the file. Reports what is wrong in it as damage.
template <typename Read>
void reading_game(const char* what, Read read) {
    try {
        read();
    } catch (const Error& error) {
        if (error.status() != SOTTO_ERROR_ARGUMENT && error.status() != SOTTO_ERROR_UNSUPPORTED) {
            throw;
        }
        damaged_game(std::string(what) + ": " + error.what());
    }
}

// Returns the tokens of a token session; nullopt: a session with messages.
std::optional<TokenRun> run_of(const Fields& session) {
    if (session.find("tokens") == nullptr) {
        return std::nullopt;
    }
    auto run = TokenRun::from(read_tokens(session, "tokens"), read_tokens(session, "positions"));
    if (!run) {
        damaged_game("positions of tokens do not ascend");
    }
    return run;
}

} // namespace

std::string GameReader::take(std::uint64_t size) {
    if (size > file_.size() - at_) {
        refuse_game(
            "is truncated: it has " + std::to_string(file_.size()) +
            " bytes and continues beyond; use an earlier one"
        );
    }
    std::string bytes(static_cast<std::size_t>(size), '\0');
    file_.read(at_, bytes.data(), bytes.size());
    at_ += size;
    return bytes;
}

GameReader::Chunk GameReader::next_chunk() {
    const auto header = take(game::kChunkHeader);
    Chunk chunk;
    chunk.type = game::get<std::uint32_t>(header, 0);
    chunk.flags = game::get<std::uint32_t>(header, 4);
    chunk.size = game::get<std::uint64_t>(header, 8);
    chunk.checksum = game::get<std::uint64_t>(header, 16);
    chunk.header = header.substr(0, 16);
    if (chunk.size > file_.size() - at_) {
        refuse_game(
            "is truncated, or damaged: a part of " + std::to_string(chunk.size) +
            " bytes does not end in it; use an earlier one"
        );
    }
    return chunk;
}

GameReader::Head GameReader::take_head(const Chunk& chunk) {
    Head head;
    head.length = take(std::min<std::uint64_t>(chunk.size, 4));
    const auto size = head.length.size() < 4 ? UINT64_MAX : game::get<std::uint32_t>(head.length, 0);
    if (size > chunk.size - head.length.size()) {
        damaged_game("the description of a part does not end in it");
    }
    head.json = take(size);
    head.rest = chunk.size - head.length.size() - size;
    return head;
}

void GameReader::check(const Chunk& chunk, std::initializer_list<std::string_view> payload) {
    std::string_view parts[3];
    std::copy(payload.begin(), payload.end(), parts);
    if (game::checksum({chunk.header, parts[0], parts[1], parts[2]}) != chunk.checksum) {
        damaged_game("a checksum does not match");
    }
    if (chunk.type != game::kDone) {
        game::put(checksums_, chunk.checksum);
    }
}

std::string GameReader::payload_of(const Chunk& chunk) {
    if (chunk.size > kMaxGameText) {
        damaged_game("a part has " + std::to_string(chunk.size) + " bytes");
    }
    auto payload = take(chunk.size);
    check(chunk, {payload});
    return payload;
}

// Skips a chunk of a type that this library does not know, and checks it in pieces.
void GameReader::skip(const Chunk& chunk) {
    if ((chunk.flags & game::kRequired) != 0) {
        refuse_game("has a part that this version of the library does not know; update the library");
    }
    game::Checksum sum;
    sum.add(chunk.header);
    stream(chunk, chunk.size, sum, nullptr);
}

// Reads the last `size` bytes of a chunk in pieces, and checks the whole chunk. `out`: where to copy the
// bytes; null: nowhere.
void GameReader::stream(const Chunk& chunk, std::uint64_t size, game::Checksum& sum, FileReplacement* out) {
    for (auto left = size; left > 0;) {
        const auto piece = take(std::min<std::uint64_t>(left, kGamePiece));
        sum.add(piece);
        if (out != nullptr) {
            out->append(piece);
        }
        advanced_(0); // stops an abandoned task
        left -= piece.size();
    }
    if (sum.value() != chunk.checksum) {
        damaged_game("a checksum does not match");
    }
    game::put(checksums_, chunk.checksum);
}

void GameReader::add(const Chunk& chunk) {
    switch (chunk.type) {
    case game::kHead:
        payload_of(chunk);
        break;
    case game::kMessages:
        add_messages(payload_of(chunk));
        break;
    case game::kSession:
        add_session(payload_of(chunk));
        break;
    case game::kResponse:
        add_response(payload_of(chunk));
        break;
    case game::kKvState:
        add_kv(chunk);
        break;
    case game::kFile:
        add_file(chunk);
        break;
    default:
        skip(chunk);
    }
}

void GameReader::add_messages(std::string_view payload) {
    while (!payload.empty()) {
        const auto size = payload.size() < 4 ? SIZE_MAX : game::get<std::uint32_t>(payload, 0);
        if (size > payload.size() - std::min<std::size_t>(payload.size(), 4)) {
            damaged_game("a message does not end in its part");
        }
        auto message = std::make_shared<const std::string>(payload.substr(4, size));
        reading_game("a message", [&] { check_stored_message(*message); });
        messages_.push_back(std::move(message));
        payload.remove_prefix(4 + size);
    }
}

std::vector<Message> GameReader::messages_of(const Json& object) const {
    const auto found = object.find("messages");
    if (found == object.end() || !found->is_array()) {
        damaged_game("a conversation has no messages");
    }
    std::vector<Message> messages;
    messages.reserve(found->size());
    for (const auto& number : *found) {
        if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= messages_.size()) {
            damaged_game("a message is missing");
        }
        messages.push_back(messages_[number.get<std::size_t>()]);
    }
    return messages;
}

void GameReader::add_session(const std::string& payload) {
    reading_game("a session", [&] {
        const auto object = parse_object(payload, "session");
        const Fields fields(object, "session");
        SavedSession session;
        session.id = game_text(fields, "id", 1, kMaxId);
        session.talk.model = game_text(fields, "model", 0, SIZE_MAX);
        session.talk.messages = messages_of(object);
        session.talk.run = run_of(fields);
        session.talk.adapters = read_adapters(fields);
        session.pinned = fields.boolean("pinned").value_or(false);
        if (!ids_.insert(session.id).second) {
            damaged_game("it has a session twice");
        }
        state_.sessions.push_back(std::move(session));
    });
}

void GameReader::add_response(const std::string& payload) {
    reading_game("a response", [&] {
        const auto object = parse_object(payload, "response");
        const Fields fields(object, "response");
        SavedResponse response;
        response.id = game_text(fields, "id", 1, kMaxId);
        response.talk.model = game_text(fields, "model", 0, SIZE_MAX);
        response.talk.messages = messages_of(object);
        state_.responses.push_back(std::move(response));
    });
}

// Reads a KV cache straight into the buffer in which the engine keeps it.
void GameReader::add_kv(const Chunk& chunk) {
    const auto head = take_head(chunk);
    PageBuffer blob(static_cast<std::size_t>(head.rest));
    file_.read(at_, blob.data(), blob.size());
    at_ += blob.size();
    check(chunk, {head.length, head.json, blob.view()});
    reading_game("a KV cache", [&] {
        const auto object = parse_object(head.json, "kv");
        const Fields fields(object, "kv");
        const auto id = game_text(fields, "session", 1, kMaxId);
        if (state_.sessions.empty() || state_.sessions.back().id != id) {
            damaged_game("a KV cache does not follow its session");
        }
        auto& kv = state_.sessions.back().kv;
        kv.model = game_text(fields, "model", 1, SIZE_MAX);
        kv.blob = std::move(blob);
    });
}

// Returns the new file for a file of the save game whose JSON is `head`; null if it is not wanted.
FileReplacement* GameReader::replacement_of(const std::string& head) {
    std::string name;
    reading_game("a file", [&] {
        const auto object = parse_object(head, "file");
        name = game_text(Fields(object, "file"), "name", 1, kMaxId);
    });
    const auto [at, is_new] = files_.try_emplace(name);
    if (!is_new) {
        damaged_game("it has a file twice");
    }
    for (const auto& file : wanted_) {
        if (file.name == name) {
            const auto parameter = "files." + name;
            const PathArgument path{parameter, file.path};
            store::refuse_open_store(path);
            at->second = std::make_unique<FileReplacement>(path);
        }
    }
    return at->second.get();
}

void GameReader::add_file(const Chunk& chunk) {
    const auto head = take_head(chunk);
    game::Checksum sum;
    sum.add(chunk.header);
    sum.add(head.length);
    sum.add(head.json);
    stream(chunk, head.rest, sum, replacement_of(head.json));
}

void GameReader::commit_files() {
    for (const auto& [name, file] : files_) {
        if (file != nullptr) {
            file->commit();
        }
    }
}

void GameReader::check_end(const Chunk& chunk) {
    const auto end = payload_of(chunk);
    const bool whole = end.size() == 16 && game::get<std::uint64_t>(end, 0) == checksums_.size() / 8 &&
                       game::get<std::uint64_t>(end, 8) == game::checksum({checksums_});
    if (!whole || at_ != file_.size()) {
        damaged_game("parts are missing, or something follows its end");
    }
}

GameState GameReader::read(GameCounts& counts) {
    if (file_.size() < game::kFileHeader) {
        refuse_game("has no header of a save game of Sotto");
    }
    const auto header = take(game::kFileHeader);
    if (!header.starts_with(game::kMagic)) {
        refuse_game("has no header of a save game of Sotto");
    }
    if (const auto version = game::get<std::uint32_t>(header, 8); version != game::kVersion) {
        refuse_game(
            "has version '" + std::to_string(version) + "': expected version " +
            std::to_string(game::kVersion) + "; update the library"
        );
    }
    if (game::get<std::uint32_t>(header, 12) != 0) {
        damaged_game("its header is unknown");
    }
    for (;;) {
        const auto chunk = next_chunk();
        if (chunk.type == game::kDone) {
            check_end(chunk);
            break;
        }
        add(chunk);
        advanced_(static_cast<float>(static_cast<double>(at_) / static_cast<double>(file_.size())));
    }
    for (const auto& file : wanted_) {
        if (files_.find(file.name) == files_.end()) {
            throw Error(
                SOTTO_ERROR_NOT_FOUND,
                "the save game has no file '" + file.name + "': expected one that was saved with it"
            );
        }
    }
    counts.sessions = state_.sessions.size();
    counts.responses = state_.responses.size();
    counts.messages = messages_.size();
    counts.files = files_.size();
    counts.bytes = file_.size();
    return std::move(state_);
}

} // namespace sotto
