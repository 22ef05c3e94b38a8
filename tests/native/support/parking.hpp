// A small store of parked KV caches, and its warnings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/state/kv_state_store.hpp"
#include "support/folder.hpp"
#include "support/game.hpp"
#include "support/scratch.hpp"

namespace test {

using sotto::KvStateStore;
using sotto::Ledger;
namespace fs = std::filesystem;

constexpr std::size_t kSize = 100;

// A KV cache whose bytes begin with its number.
inline std::string state(int number, std::size_t size = kSize) {
    std::string bytes = std::to_string(number) + " ";
    bytes.resize(size, static_cast<char>(number));
    return bytes;
}

// Random bytes, which cannot be compressed.
inline std::string noise(unsigned seed, std::size_t size) {
    std::mt19937 random(seed);
    std::string bytes(size, '\0');
    for (auto& byte : bytes) {
        byte = static_cast<char>(random());
    }
    return bytes;
}

// A store with memory for `states` KV caches of kSize bytes, and its warnings.
struct Place {
    explicit Place(std::size_t states, fs::path files = {}) : Place(states * kSize, std::move(files), 0) {}
    Place(std::uint64_t most, fs::path files, std::uint64_t ceiling) : hooks(hearing()) {
        ledger.set_ceiling(ceiling);
        parking.emplace(ledger, files.empty() ? folder.path() : std::move(files), most, hooks);
    }

    sotto_log_sink sink() {
        auto made = SOTTO_INIT(sotto_log_sink);
        made.self = this;
        made.write = [](void* self, sotto_log_level, sotto_str line) {
            static_cast<Place*>(self)->warnings.push_back(text_of(line));
        };
        return made;
    }
    sotto::Hooks hearing() {
        sotto::Hooks made;
        made.log = sotto::Log(sink());
        return made;
    }
    KvStateStore::Kept
    park(const std::string& bytes, std::size_t head = KvStateStore::kApart, const char* whose = "npc") {
        return parking->put(whose, sotto::PageBuffer(std::string_view(bytes)), head);
    }
    KvStateStore::Kept put(int number, std::size_t size = kSize) { return park(state(number, size)); }
    std::string read(const KvStateStore::Kept& kept) {
        const auto fetch = parking->fetch(kept);
        while (!fetch->is_done()) {
            std::this_thread::yield();
        }
        return std::string(parking->read(*fetch)->view());
    }
    // Truncates the unnamed spill file to `size` bytes. Without `size`: returns its length.
    std::uint64_t cut_file(std::optional<std::uint64_t> size = {}) const {
        std::uint64_t bytes = 0;
        for (const auto& file : scratch_files(folder.path())) {
            bytes += fs::file_size(file);
            if (size) {
                fs::resize_file(file, *size);
            }
        }
        return bytes;
    }
    std::string failure(const KvStateStore::Kept& kept) {
        try {
            read(kept);
        } catch (const sotto::Error& error) {
            CHECK(error.status() == SOTTO_ERROR_STATE);
            return error.what();
        }
        return {};
    }

    const Folder folder;
    std::vector<std::string> warnings;
    const sotto::Hooks hooks;
    Ledger ledger;
    std::optional<KvStateStore> parking;
};

} // namespace test
