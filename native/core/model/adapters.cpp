#include "core/model/adapters.hpp"

#include <bit>

namespace sotto {

void Adapter::open(Model& model, Ledger& ledger, const std::string& whose, const sotto_file_access* files) {
    claim = ledger.take(Use::adapter, whose, model.measure_adapter(path, files));
    try {
        handle = model.open_adapter(path, files, bytes);
        claim.settle(bytes);
    } catch (const std::exception&) {
        close(model);
        throw;
    }
    failure = {};
}

void Adapter::close(Model& model) noexcept {
    if (handle != nullptr) {
        model.close_adapter(handle);
        handle = nullptr;
    }
    claim.release();
}

std::uint64_t AdapterList::bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& adapter : loaded) {
        sum += adapter->bytes;
    }
    return sum;
}

std::uint64_t AdapterList::charged() const noexcept {
    std::uint64_t sum = 0;
    for (const auto* list : {&loaded, &retired}) {
        for (const auto& adapter : *list) {
            sum += adapter->claim.bytes();
        }
    }
    return sum;
}

// FNV-1a over 64-bit words.
std::uint64_t group_of(const AdapterSet& set) noexcept {
    constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
    constexpr std::uint64_t kPrime = 0x100000001b3;
    if (set.empty()) {
        return 0;
    }
    auto hash = kBasis;
    const auto add = [&](std::uint64_t word) {
        for (unsigned byte = 0; byte < sizeof word; ++byte) {
            hash = (hash ^ (word >> (8 * byte) & 0xFF)) * kPrime;
        }
    };
    for (const auto& use : set) {
        add(use.adapter->number);
        add(std::bit_cast<std::uint32_t>(use.scale));
    }
    return (hash & INT64_MAX) | 1; // 0 means the empty set
}

} // namespace sotto
