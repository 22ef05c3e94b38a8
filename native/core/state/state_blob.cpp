#include "core/state/state_blob.hpp"

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

#include "base/error.hpp"
#include "core/state/little_endian.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

constexpr std::string_view kMagic("SOTTO\0ST", 8);
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kLongestFingerprint = 64 * 1024;
constexpr std::size_t kFingerprintAt = 12; // offset of the fingerprint's size
constexpr std::size_t kPayloadAt = 16;     // offset of the payload's size
constexpr std::size_t kChecksumAt = 24;
constexpr std::size_t kLongestShown = 200;

using little_endian::get;
using little_endian::put;

[[noreturn]] void refuse(const std::string& why) {
    throw Error(SOTTO_ERROR_MODEL, "the state " + why + "; save it again");
}

// Hashes everything except the checksum itself.
std::uint64_t checksum(std::string_view blob) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, blob.data(), kChecksumAt);
    XXH3_64bits_update(&state, blob.data() + kStateHeader, blob.size() - kStateHeader);
    return XXH3_64bits_digest(&state);
}

// Returns how the fingerprints differ, naming the first differing field if both are JSON objects. `theirs` is
// untrusted: the message shortens its value, and no code walks it recursively.
std::string difference(std::string_view theirs, std::string_view wanted) {
    const auto is = try_parse_json(theirs);
    const auto must = try_parse_json(wanted);
    if (is.is_object() && must.is_object()) {
        for (const auto& [key, value] : must.items()) {
            const auto found = is.find(key);
            if (found == is.end() || *found != value) {
                const auto theirs_is = found == is.end() ? "none" : excerpt(*found, kLongestShown);
                return "has " + key + " '" + theirs_is + "': expected '" + excerpt(value, kLongestShown) +
                       "'";
            }
        }
    }
    return "was saved with another model or library version";
}

} // namespace

PageBuffer begin_state(std::string_view fingerprint) {
    std::string header(kMagic);
    put(header, kVersion);
    put(header, static_cast<std::uint32_t>(fingerprint.size()));
    put(header, std::uint64_t{0}); // payload size, set by seal_state()
    put(header, std::uint64_t{0}); // checksum, set by seal_state()
    PageBuffer blob;
    blob.append(header.append(fingerprint));
    return blob;
}

void seal_state(PageBuffer& blob) {
    const std::uint64_t before = kStateHeader + get<std::uint32_t>(blob.view(), kFingerprintAt);
    const auto set = [&](std::size_t at, std::uint64_t value) {
        std::string number;
        put(number, value);
        number.copy(blob.data() + at, number.size());
    };
    set(kPayloadAt, blob.size() - before);
    set(kChecksumAt, checksum(blob.view()));
}

std::string state_blob(std::string_view fingerprint, std::string_view payload) {
    auto blob = begin_state(fingerprint);
    blob.append(payload);
    seal_state(blob);
    return std::string(blob.view());
}

std::uint64_t state_size(std::string_view header) {
    if (header.size() < kStateHeader || !header.starts_with(kMagic)) {
        refuse("has no header of a Sotto state");
    }
    if (const auto version = get<std::uint32_t>(header, 8); version != kVersion) {
        refuse("has version '" + std::to_string(version) + "': expected version " + std::to_string(kVersion));
    }
    const auto fingerprint = get<std::uint32_t>(header, kFingerprintAt);
    const auto payload = get<std::uint64_t>(header, kPayloadAt);
    if (fingerprint > kLongestFingerprint || payload > UINT64_MAX / 2) {
        refuse("is damaged: its size is above the maximum");
    }
    return kStateHeader + fingerprint + payload;
}

std::string_view state_payload(std::string_view blob, std::string_view wanted) {
    const auto size = state_size(blob.substr(0, kStateHeader));
    if (blob.size() > size) {
        refuse("is damaged: " + std::to_string(blob.size() - size) + " bytes follow its end");
    }
    if (blob.size() < size) {
        refuse(
            "is truncated: it has " + std::to_string(blob.size()) + " of its " + std::to_string(size) +
            " bytes"
        );
    }
    if (checksum(blob) != get<std::uint64_t>(blob, kChecksumAt)) {
        refuse("is damaged: its checksum does not match");
    }
    const auto length = get<std::uint32_t>(blob, kFingerprintAt);
    const auto fingerprint = blob.substr(kStateHeader, length);
    if (fingerprint != wanted) {
        refuse(difference(fingerprint, wanted));
    }
    return blob.substr(kStateHeader + length);
}

} // namespace sotto
