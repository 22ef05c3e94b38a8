#include "core/game/game_writer.hpp"

#include <algorithm>

#include <sotto/base.h>

#include "base/error.hpp"
#include "core/game/game_format.hpp"
#include "store/store_files.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

constexpr std::size_t kMessagesChunk = 1 << 20; // bytes
constexpr std::size_t kFilePiece = 1 << 20;

Ordered saved_adapters(const std::vector<AdapterAsked>& adapters) {
    auto list = Ordered::array();
    for (const auto& one : adapters) {
        list.push_back({{"name", one.name}});
        if (one.scale) {
            list.back()["scale"] = *one.scale;
        }
    }
    return list;
}

} // namespace

void GameWriter::chunk(
    std::uint32_t type, std::uint32_t flags, std::initializer_list<std::string_view> payload
) {
    std::uint64_t size = 0;
    for (const auto part : payload) {
        size += part.size();
    }
    std::string header;
    game::put(header, type);
    game::put(header, flags);
    game::put(header, size);
    std::string_view parts[3];
    std::size_t count = 0;
    for (const auto part : payload) {
        parts[count++] = part;
    }
    const auto sum = game::checksum({header, parts[0], parts[1], parts[2]});
    game::put(header, sum);
    game::put(checksums_, sum);
    file_.append(header);
    for (const auto part : payload) {
        file_.append(part);
    }
    counts_.bytes += header.size() + size;
}

// Gives the messages of a conversation numbers, and writes those that no earlier conversation has.
void GameWriter::add_messages(const Talk& talk) {
    for (const auto& message : talk.messages) {
        if (!numbers_.try_emplace(message.get(), numbers_.size()).second) {
            continue;
        }
        game::put(messages_, static_cast<std::uint32_t>(message->size()));
        messages_ += *message;
        if (messages_.size() >= kMessagesChunk) {
            flush_messages();
        }
    }
    advance();
}

void GameWriter::flush_messages() {
    if (!messages_.empty()) {
        chunk(game::kMessages, game::kRequired, {messages_});
        messages_.clear();
    }
}

std::string GameWriter::numbers_of(const Talk& talk) const {
    std::string list = "[";
    for (const auto& message : talk.messages) {
        list += list.size() > 1 ? "," : "";
        list += std::to_string(numbers_.at(message.get()));
    }
    return list + "]";
}

// Writes a session's KV cache, whose bytes are shared with the engine and not copied, unless they are packed.
void GameWriter::add_kv(const SavedSession& session) {
    const auto& kv = session.kv;
    if (kv.model.empty()) {
        return;
    }
    const auto bytes = kv.bytes.unpack();
    const auto head = to_text(Ordered{{"session", session.id}, {"model", kv.model}});
    std::string length;
    game::put(length, static_cast<std::uint32_t>(head.size()));
    chunk(game::kKvState, 0, {length, head, bytes->view()});
    ++counts_.kv_states;
}

// Copies a file in pieces. Its checksum, which precedes the bytes, is written last.
void GameWriter::add_file(const NamedFile& file) {
    const auto parameter = "files." + file.name;
    const PathArgument path{parameter, file.path};
    store::refuse_open_store(path);
    const auto opened = open_file(path);
    const auto size = opened.size();
    const auto head = to_text(Ordered{{"name", file.name}});
    std::string header;
    game::put(header, game::kFile);
    game::put(header, std::uint32_t{0});
    game::put(header, 4 + head.size() + size);
    game::Checksum sum;
    sum.add(header);
    const auto sum_at = counts_.bytes + header.size();
    game::put(header, std::uint64_t{0});
    const auto begin = header.size();
    game::put(header, static_cast<std::uint32_t>(head.size()));
    header += head;
    sum.add(std::string_view(header).substr(begin));
    file_.append(header);
    std::string piece;
    for (std::uint64_t at = 0; at < size; at += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size - at, kFilePiece)));
        if (opened.read(at, piece.data(), piece.size())) {
            throw Error(
                SOTTO_ERROR_STATE, invalid(path.parameter, path.value, "a file that can be read to its end")
            );
        }
        sum.add(piece);
        file_.append(piece);
        advanced_(0); // stops an abandoned task
    }
    std::string checksum;
    game::put(checksum, sum.value());
    file_.overwrite(sum_at, checksum);
    checksums_ += checksum;
    counts_.bytes += header.size() + size;
    ++counts_.files;
    advance();
}

void GameWriter::advance() {
    constexpr float kWritten = 0.95F; // the rest is the sync of the file
    advanced_(kWritten * static_cast<float>(++done_) / static_cast<float>(steps_ > 0 ? steps_ : 1));
}

GameCounts GameWriter::write(const GameState& state, const std::vector<NamedFile>& files) {
    steps_ = 2 * state.sessions.size() + state.responses.size() + files.size();
    std::string header(game::kMagic);
    game::put(header, game::kVersion);
    game::put(header, std::uint32_t{0});
    file_.append(header);
    counts_.bytes = header.size();
    chunk(game::kHead, game::kRequired, {to_text(Ordered{{"library", SOTTO_VERSION}})});
    for (const auto& session : state.sessions) {
        add_messages(session.talk);
    }
    for (const auto& response : state.responses) {
        add_messages(response.talk);
    }
    flush_messages();
    for (const auto& session : state.sessions) {
        Ordered json = {{"id", session.id}, {"model", session.talk.model}, {"pinned", session.pinned}};
        if (session.talk.adapters) {
            json["lora"] = saved_adapters(*session.talk.adapters);
        }
        if (session.talk.run) {
            json["tokens"] = session.talk.run->tokens();
            json["positions"] = session.talk.run->positions();
        }
        const auto text = to_text(json);
        chunk(
            game::kSession,
            game::kRequired,
            {std::string_view(text).substr(0, text.size() - 1),
             R"(,"messages":)",
             numbers_of(session.talk) + "}"}
        );
        add_kv(session);
        advance();
    }
    for (const auto& response : state.responses) {
        const auto text = to_text(Ordered{{"id", response.id}, {"model", response.talk.model}});
        chunk(
            game::kResponse,
            game::kRequired,
            {std::string_view(text).substr(0, text.size() - 1),
             R"(,"messages":)",
             numbers_of(response.talk) + "}"}
        );
    }
    for (const auto& file : files) {
        add_file(file);
    }
    std::string end;
    game::put(end, static_cast<std::uint64_t>(checksums_.size() / 8));
    game::put(end, game::checksum({checksums_}));
    chunk(game::kDone, game::kRequired, {end});
    advanced_(1);
    file_.commit();
    counts_.sessions = state.sessions.size();
    counts_.responses = state.responses.size();
    counts_.messages = numbers_.size();
    return counts_;
}

} // namespace sotto
