// Fuzzes the replay of recordings: it replays the decisions, or refuses with a reason.
//
// Each input is replayed as it is, and with some numbers changed to values that no engine would write.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/telemetry/replay.hpp"
#include "text/json_reader.hpp"
#include "text/utf8_stream.hpp"

namespace {

using sotto::Json;

const std::filesystem::path& path() {
    static const auto& one = *new std::filesystem::path(
        std::filesystem::temp_directory_path() /
        ("sotto_recording_fuzz_" + std::to_string(std::random_device()()))
    );
    return one;
}

void replay(std::string_view recording) {
    std::ofstream(path(), std::ios::binary) << recording;
    try {
        const auto report = Json::parse(sotto::replay(path().string()));
        if (report["same"] > report["decisions"]) {
            std::abort();
        }
    } catch (const sotto::Error& error) { // only this type may be thrown
        const std::string_view why = error.what();
        if (why.empty() || !sotto::is_utf8(why)) {
            std::abort();
        }
    }
    std::filesystem::remove(path());
}

Json odd_number(std::mt19937_64& random) {
    const Json all[] = {
        0,
        1,
        -1,
        2,
        3,
        17,
        4096,
        INT32_MAX,
        UINT32_MAX,
        INT64_MAX,
        INT64_MIN,
        INT64_MAX - 1,
        1LL << 59,
        1LL << 60,
        (1LL << 60) + 1,
        -(1LL << 60),
        1LL << 62,
        0.5,
        -0.5,
        1e-9,
        1e18,
        1e300,
        true,
        nullptr,
    };
    return all[random() % std::size(all)];
}

// Changes some fields of some lines.
std::string changed(std::string_view recording, std::mt19937_64& random) {
    std::string all;
    for (std::size_t at = 0; at < recording.size();) {
        const auto end = std::min(recording.find('\n', at), recording.size());
        auto line = Json::parse(recording.substr(at, end - at), nullptr, false);
        at = end + 1;
        if (!line.is_object() || line.empty()) {
            continue;
        }
        if (random() % 8 == 0) {
            auto field = line.begin();
            std::advance(field, static_cast<std::ptrdiff_t>(random() % line.size()));
            if (!field->is_string()) {
                *field = odd_number(random);
            }
        }
        for (auto times = random() % 16 == 0 ? 2 : random() % 16 == 1 ? 0 : 1; times > 0; --times) {
            all += sotto::to_text(line) + "\n";
        }
    }
    return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    replay(input);
    std::mt19937_64 random(std::hash<std::string_view>()(input));
    for (int i = 0; i < 4; ++i) {
        replay(changed(input, random));
    }
    return 0;
}
