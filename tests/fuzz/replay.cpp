// A main() for fuzzers without libFuzzer: replays the given files and folders and, with --mutate <n>, each of
// them n times with some bytes changed, reproducibly. With --seconds <n>, replays changed ones in turn for
// that long; for ten minutes if SOTTO_FULL is 1.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

#include "../native/support/full.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

Bytes read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void mutate(Bytes& bytes, std::mt19937_64& random) {
    for (auto changes = 1 + random() % 8; changes > 0; --changes) {
        const auto at = bytes.empty() ? 0 : random() % bytes.size();
        const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        const auto byte = static_cast<std::uint8_t>(random());
        switch (bytes.empty() ? 0 : random() % 4) {
        case 0:
            bytes.insert(place, byte);
            break;
        case 1:
            bytes.erase(place);
            break;
        case 2:
            *place = byte;
            break;
        default: // repeats a part
            const Bytes part(place, place + static_cast<std::ptrdiff_t>(random() % (bytes.size() - at + 1)));
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), part.begin(), part.end());
            break;
        }
    }
}

void feed(const Bytes& bytes) {
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

} // namespace

int main(int argc, char** argv) {
    int mutations = 0;
    std::chrono::seconds limit(0);
    std::vector<fs::path> files;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--mutate" && i + 1 < argc) {
            mutations = std::atoi(argv[++i]);
        } else if (std::string_view(argv[i]) == "--seconds" && i + 1 < argc) {
            const auto seconds = std::atoi(argv[++i]);
            limit = std::chrono::seconds(test::is_full() ? 600 : seconds);
            mutations = 1;
        } else if (fs::is_directory(argv[i])) {
            for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
                files.push_back(entry.path());
            }
        } else {
            files.emplace_back(argv[i]);
        }
    }
    std::sort(files.begin(), files.end());
    std::mt19937_64 random(1);
    const auto end = std::chrono::steady_clock::now() + limit;
    int changed = 0;
    for (int round = 0; round == 0 || (!files.empty() && std::chrono::steady_clock::now() < end); ++round) {
        for (const auto& file : files) {
            const auto whole = read(file);
            if (round == 0) {
                feed(whole);
            }
            for (int i = 0; i < mutations; ++i, ++changed) {
                auto bytes = whole;
                mutate(bytes, random);
                feed(bytes);
            }
            if (round > 0 && std::chrono::steady_clock::now() >= end) {
                break;
            }
        }
    }
    std::cout << files.size() << " files as they are, and " << changed << " changed ones\n";
    return files.empty() ? 1 : 0;
}
