// Fuzzes the reader of states: writing an accepted state again gives the same bytes.
//
// Each input is used as it is; with a corrected checksum, so that more than the checksum is tested; and as a
// payload, whose blob is read back, truncated, and refused with any byte changed.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

#include "base/error.hpp"
#include "core/state/state_blob.hpp"
#include "text/utf8_stream.hpp"

namespace {

constexpr std::string_view kFingerprint = R"({"model":"0123456789abcdef","kv_type":"f16","adapters":[]})";
constexpr std::size_t kChecksumAt = 24;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

// Returns true if the blob was accepted.
bool read(std::string_view blob) {
    try {
        const auto payload = sotto::state_payload(blob, kFingerprint);
        require(sotto::state_blob(kFingerprint, payload) == blob);
        return true;
    } catch (const sotto::Error& error) { // only this type may be thrown
        const std::string_view why = error.what();
        require(error.status() == SOTTO_ERROR_MODEL);
        require(!why.empty() && why.size() < 1000);
        require(sotto::is_utf8(why) && why.find('\n') == std::string_view::npos);
        return false;
    }
}

std::string with_true_checksum(std::string blob) {
    if (blob.size() >= sotto::kStateHeader) {
        const auto rest = blob.substr(0, kChecksumAt) + blob.substr(sotto::kStateHeader);
        auto sum = XXH3_64bits(rest.data(), rest.size());
        for (std::size_t i = 0; i < sizeof sum; ++i, sum >>= 8) {
            blob[kChecksumAt + i] = static_cast<char>(sum & 0xFF);
        }
    }
    return blob;
}

// Damages a valid blob; the first bytes of the input select how.
void harm(std::string_view input) {
    auto blob = sotto::state_blob(kFingerprint, input);
    require(read(blob));
    std::uint32_t choice = 0;
    for (std::size_t i = 0; i < input.size() && i < sizeof choice; ++i) {
        choice = choice << 8 | static_cast<unsigned char>(input[i]);
    }
    require(!read(std::string_view(blob).substr(0, choice % blob.size())));
    require(!read(blob + static_cast<char>(choice)));
    auto& byte = blob[choice / 255 % blob.size()];
    byte = static_cast<char>(byte ^ static_cast<char>(1 + choice % 255));
    require(!read(blob));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    read(input);
    read(with_true_checksum(std::string(input)));
    harm(input);
    return 0;
}
