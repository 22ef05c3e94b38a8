// Reads the JSON of sotto/store.h, and writes its results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/entry.hpp"
#include "store/store.hpp"

namespace sotto {

struct StoreInsertion {
    std::vector<store::Entry> entries;
    bool replace = false;
};

// What sotto_store_remove() removes: entries by id, or by filter.
struct StoreRemoval {
    bool by_id = false;
    std::vector<std::string> ids;
    store::Filter filter;
};

// Every reader throws Error(SOTTO_ERROR_ARGUMENT) that names the field by its path: for malformed JSON, a
// value out of range or of another type, and a field that is not known. An empty text reads as {}.
//
// `vectors`: embeddings in a row, one for each entry, instead of their fields; empty: none.
StoreInsertion read_store_insertion(std::string_view text, std::span<const float> vectors);
store::EntryChange read_store_change(std::string_view text);
StoreRemoval read_store_removal(std::string_view text);
store::Filter read_store_filter(std::string_view text);
store::ListOptions read_store_list(std::string_view text);
bool read_store_with_embedding(std::string_view text);
store::StoreQuery read_store_query(std::string_view text, std::span<const float> vector);

std::string write_store_ids(const std::vector<std::string>& ids);
std::string write_store_entry(const store::Entry& entry);
std::string write_store_page(const store::Page& page);
std::string write_store_results(const std::vector<store::StoreResult>& results);
std::string write_store_info(std::string_view id, const store::StoreInfo& info);

} // namespace sotto
