// Extracts images and sounds from requests, and describes the prompt tokens that stand for them.
#include "media/media.hpp"

#include "media/media_file.hpp"
#include "media/projector.hpp"
#include "request/fields.hpp"
#include "runtime/json_parts.hpp"

#include <hash/hash.h>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxMedia = 16;

// Appends the placeholder tokens of a stretch to `tokens`. Each token has 30 bits derived from `hash`, the
// hash of the image or sound file and of the projector, and from the stretch's number of tokens.
void name_tokens(
    const std::string& hash, std::size_t piece, Stretch& stretch, std::vector<llama_token>& tokens
) {
    constexpr std::size_t kDigits = 8;  // hexadecimal digits per token
    constexpr std::size_t kDigest = 64; // hexadecimal digits of a SHA-256
    std::string digits;
    for (std::size_t i = 0; i < stretch.tokens; ++i) {
        const auto at = i * kDigits % kDigest;
        if (at == 0) {
            const auto which = hash + "/" + std::to_string(piece) + "/" + std::to_string(stretch.tokens) +
                               "/" + std::to_string(i);
            digits = hash_sha256_hex(which.data(), which.size());
        }
        const auto bits = std::stoul(digits.substr(at, kDigits), nullptr, 16) & 0x3FFFFFFF;
        tokens.push_back(-2 - static_cast<llama_token>(bits));
    }
}

Medium medium_of(const std::string& file, const Projector& projector, const Pieces& pieces) {
    const auto hash = hash_sha256_hex(file.data(), file.size()) + projector.hash();
    Medium medium;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto& piece = pieces[i];
        medium.tokens.insert(medium.tokens.end(), piece.tokens.begin(), piece.tokens.end());
        if (piece.stretch.chunk) {
            auto stretch = piece.stretch;
            stretch.begin = medium.tokens.size();
            name_tokens(hash, i, stretch, medium.tokens);
            medium.stretches.push_back(std::move(stretch));
        }
    }
    return medium;
}

void check_can(bool can, const std::string& path, const char* what, const Projector& projector) {
    if (!can) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            path + ": the model reads text and " + (projector.sees() ? "images" : "sounds") + ", not " +
                what + "; use another projector"
        );
    }
}

Medium read_medium(const Json& part, const Projector& projector, const std::string& path) {
    if (part.at("type") == "image_url") {
        check_can(projector.sees(), path, "images", projector);
        const auto& url = part.at("image_url").at("url").get_ref<const std::string&>();
        const auto place = path + ".image_url.url";
        const auto file = read_data_url(url, place);
        return medium_of(file, projector, projector.cut(read_picture(file, place), place));
    }
    check_can(projector.hears(), path, "sounds", projector);
    const auto& data = part.at("input_audio").at("data").get_ref<const std::string&>();
    const auto place = path + ".input_audio.data";
    const auto file = read_base64(data, place);
    return medium_of(file, projector, projector.cut(read_sound(file, projector.sample_rate(), place), place));
}

// Calls `visit` with each image and sound in a list of parts, and with its path. `Parts` and `Body`: Json, or
// const Json.
template <typename Parts, typename Visit>
void for_each_medium_in(Parts& parts, const std::string& path, Visit visit) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].is_object() && parts[i].at("type") != "text") {
            visit(parts[i], path + "[" + std::to_string(i) + "]");
        }
    }
}

template <typename Body, typename Visit>
void for_each_medium(Body& body, Visit visit) {
    if (const auto messages = body.find(field::messages.name); messages != body.end()) {
        for (std::size_t i = 0; i < messages->size(); ++i) {
            const auto content = (*messages)[i].find("content");
            if (content != (*messages)[i].end() && content->is_array()) {
                for_each_medium_in(*content, "messages[" + std::to_string(i) + "].content", visit);
            }
        }
    }
    if (const auto prompt = body.find(field::prompt.name); prompt != body.end() && prompt->is_array()) {
        for_each_medium_in(*prompt, field::prompt.name, visit);
    }
}

} // namespace

bool has_media(const Json& body) {
    bool any = false;
    for_each_medium(body, [&](const Json&, const std::string&) { any = true; });
    return any;
}

void check_reads(const Json& part, const std::string& path) {
    if (part.at("type") != "text" && part.at("type") != kMediaMarker) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the model reads text only, but " + path + " has content of type " + text_of(part.at("type")) +
                "; set options.projector"
        );
    }
}

std::vector<Medium> take_media(Json& body, const Projector& projector) {
    std::vector<Medium> media;
    for_each_medium(body, [&](Json& part, const std::string& path) {
        if (media.size() == kMaxMedia) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "invalid " + path + ": expected at most " + std::to_string(kMaxMedia) +
                    " images and sounds in a request"
            );
        }
        auto medium = read_medium(part, projector, path);
        part = {{"type", kMediaMarker}, {"medium", media.size()}};
        media.push_back(std::move(medium));
    });
    return media;
}

} // namespace sotto::llama
