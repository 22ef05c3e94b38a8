// Implements sotto/index.h and sotto/index_search.h.
#include <limits>
#include <optional>

#include "api/boundary.hpp"
#include "api/handle_table.hpp"
#include "store/vector_index.hpp"

using namespace sotto::api;
using sotto::Error;
using sotto::store::BuildOptions;
using sotto::store::IndexOptions;
using sotto::store::Match;
using sotto::store::SearchOptions;
using sotto::store::VectorIndex;

namespace {

struct IndexKind {
    static constexpr const char* kName = "index";
    static constexpr const char* kPlural = "indexes";
    static constexpr unsigned kNumber = 1;
    static constexpr std::size_t kMax = 4096;
};
using IndexTable = HandleTable<VectorIndex, IndexKind>;

IndexTable g_indexes;

class IndexPin : public IndexTable::Pin {
public:
    explicit IndexPin(sotto_index* handle)
        : IndexTable::Pin(g_indexes, reinterpret_cast<std::uintptr_t>(handle)) {}
};

sotto_index* open(std::unique_ptr<VectorIndex> index) {
    return reinterpret_cast<sotto_index*>(g_indexes.open(std::move(index)));
}

IndexOptions options_of(const sotto_index_desc& desc) {
    if (desc.storage < SOTTO_INDEX_F32 || desc.storage > SOTTO_INDEX_I8) {
        throw sotto::invalid_argument(
            "desc->storage", std::to_string(desc.storage), "one of the SOTTO_INDEX_ storages"
        );
    }
    if (desc.metric != SOTTO_INDEX_COSINE) {
        throw sotto::invalid_argument("desc->metric", std::to_string(desc.metric), "SOTTO_INDEX_COSINE");
    }
    IndexOptions options;
    options.dim = desc.dim;
    options.storage = static_cast<sotto::store::VectorStorage>(desc.storage);
    options.m = desc.m == 0 ? options.m : desc.m;
    options.ef_construction = desc.ef_construction == 0 ? options.ef_construction : desc.ef_construction;
    options.seed = desc.seed;
    options.max_elements = desc.max_elements;
    return options;
}

// Returns `count` vectors of a caller, after checking that they have the dimensions of the index.
std::span<const float> vectors_of(
    const VectorIndex& index, const float* vectors, std::uint32_t dim, std::uint64_t count, const char* name
) {
    const std::uint32_t expected = index.options().dim;
    if (dim != expected) {
        throw sotto::invalid_argument(
            "dim", std::to_string(dim), std::to_string(expected) + ", the dimensions of the index"
        );
    }
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / (sizeof(float) * dim)) {
        throw sotto::invalid_argument("count", std::to_string(count), "vectors that fit in memory");
    }
    if (count > 0) {
        require(vectors, name);
    }
    return {vectors, static_cast<std::size_t>(count * dim)};
}

// One search description, as the index takes it.
class SearchDesc {
public:
    explicit SearchDesc(const sotto_search_desc* desc) : desc_(read(desc, "desc")) {
        options_.ef = desc_.ef;
        if (desc_.allowed_count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(std::uint64_t)) {
            throw sotto::invalid_argument(
                "desc->allowed_count", std::to_string(desc_.allowed_count), "labels that fit in memory"
            );
        }
        if (desc_.allowed != nullptr) {
            allowed_ = {desc_.allowed, static_cast<std::size_t>(desc_.allowed_count)};
            options_.allowed = &allowed_;
        } else if (desc_.allowed_count > 0) {
            require(desc_.allowed, "desc->allowed");
        }
        if (desc_.filter != nullptr) {
            options_.filter = [this](std::uint64_t label) { return desc_.filter(desc_.self, label) != 0; };
        }
    }
    SearchDesc(const SearchDesc&) = delete;
    SearchDesc& operator=(const SearchDesc&) = delete;

    std::uint32_t k() const noexcept { return desc_.k; }

    // Writes matches to the caller's arrays and returns their number.
    std::uint32_t run(
        const VectorIndex& index, std::span<const float> query, std::uint64_t* labels, float* distances
    ) const {
        const auto found = index.search(query, desc_.k, options_);
        for (std::size_t i = 0; i < found.size(); ++i) {
            labels[i] = found[i].label;
            if (distances != nullptr) {
                distances[i] = found[i].distance;
            }
        }
        return static_cast<std::uint32_t>(found.size());
    }

private:
    sotto_search_desc desc_;
    SearchOptions options_;
    std::span<const std::uint64_t> allowed_;
};

void require_found(bool found, std::uint64_t label) {
    if (!found) {
        throw Error(
            SOTTO_ERROR_NOT_FOUND,
            sotto::invalid("label", std::to_string(label), "a label of the index; insert it first")
        );
    }
}

} // namespace

sotto_status sotto_index_create(const sotto_index_desc* desc, sotto_index** index) {
    return guarded([&] {
        deref(index, "index") = nullptr;
        *index = open(std::make_unique<VectorIndex>(options_of(read(desc, "desc"))));
        return SOTTO_OK;
    });
}

void sotto_index_destroy(sotto_index* index) {
    g_indexes.close(reinterpret_cast<std::uintptr_t>(index), [](VectorIndex& closed) noexcept {
        closed.cancel();
    });
}

sotto_status sotto_index_insert(
    sotto_index* index, const float* vectors, uint32_t dim, const uint64_t* labels, uint64_t count
) {
    return guarded([&] {
        const IndexPin pinned(index);
        const auto values = vectors_of(*pinned, vectors, dim, count, "vectors");
        if (count > 0) {
            require(labels, "labels");
        }
        pinned->add(values, {labels, static_cast<std::size_t>(count)});
        return SOTTO_OK;
    });
}

sotto_status sotto_index_update(sotto_index* index, const float* vector, uint32_t dim, uint64_t label) {
    return guarded([&] {
        const IndexPin pinned(index);
        require_found(pinned->update(vectors_of(*pinned, vector, dim, 1, "vector"), label), label);
        return SOTTO_OK;
    });
}

sotto_status sotto_index_remove(sotto_index* index, uint64_t label) {
    return guarded([&] {
        const IndexPin pinned(index);
        require_found(pinned->remove(label), label);
        return SOTTO_OK;
    });
}

sotto_status sotto_index_build(sotto_index* index, const sotto_build_desc* desc) {
    return guarded([&] {
        const IndexPin pinned(index);
        const auto given = desc == nullptr ? sotto_build_desc{} : read(desc, "desc");
        BuildOptions options;
        options.threads = given.threads == 0 ? 1 : given.threads;
        if (given.progress != nullptr) {
            options.progress = [&](std::uint64_t done, std::uint64_t total) {
                return given.progress(given.self, done, total) == 0;
            };
        }
        if (!pinned->build(options)) {
            throw Error(
                SOTTO_ERROR_CANCELLED,
                "the build was stopped: build the index again to link the other vectors"
            );
        }
        return SOTTO_OK;
    });
}

sotto_status sotto_index_search(
    sotto_index* index,
    const sotto_search_desc* desc,
    const float* query,
    uint32_t dim,
    uint64_t* labels,
    float* distances,
    uint32_t* count
) {
    return guarded([&] {
        deref(count, "count") = 0;
        const IndexPin pinned(index);
        const SearchDesc search(desc);
        if (search.k() > 0) {
            require(labels, "labels");
        }
        *count = search.run(*pinned, vectors_of(*pinned, query, dim, 1, "query"), labels, distances);
        return SOTTO_OK;
    });
}

sotto_status sotto_index_search_batch(
    sotto_index* index,
    const sotto_search_desc* desc,
    const float* queries,
    uint32_t dim,
    uint64_t count,
    uint64_t* labels,
    float* distances,
    uint32_t* counts
) {
    return guarded([&] {
        const IndexPin pinned(index);
        const SearchDesc search(desc);
        const auto values = vectors_of(*pinned, queries, dim, count, "queries");
        if (count > 0) {
            require(counts, "counts");
        }
        if (count > 0 && search.k() > 0) {
            require(labels, "labels");
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = i * search.k();
            counts[i] = search.run(
                *pinned,
                values.subspan(i * dim, dim),
                labels + at,
                distances != nullptr ? distances + at : nullptr
            );
        }
        return SOTTO_OK;
    });
}

sotto_status sotto_index_get_info(sotto_index* index, sotto_index_info* info) {
    return guarded([&] {
        const auto room = caller_size(info, "info");
        const IndexPin pinned(index);
        const auto& options = pinned->options();
        sotto_index_info out{};
        out.dim = options.dim;
        out.size = pinned->size();
        out.max_elements = options.max_elements;
        out.memory = pinned->memory();
        out.seed = options.seed;
        out.storage = static_cast<sotto_index_storage>(options.storage);
        out.built = pinned->is_built() ? 1 : 0;
        out.m = options.m;
        out.ef_construction = options.ef_construction;
        write(info, out, room);
        return SOTTO_OK;
    });
}

sotto_status sotto_index_contains(sotto_index* index, uint64_t label, int32_t* found) {
    return guarded([&] {
        deref(found, "found") = 0;
        const IndexPin pinned(index);
        *found = pinned->contains(label) ? 1 : 0;
        return SOTTO_OK;
    });
}

sotto_status sotto_index_save(sotto_index* index, sotto_str path) {
    return guarded([&] {
        const IndexPin pinned(index);
        pinned->save({"path", utf8(path, "path")});
        return SOTTO_OK;
    });
}

sotto_status sotto_index_load(sotto_str path, sotto_index_flags flags, sotto_index** index) {
    return guarded([&] {
        deref(index, "index") = nullptr;
        if ((flags & ~sotto_index_flags{SOTTO_INDEX_MAPPED}) != 0) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                sotto::invalid("flags", std::to_string(flags), "SOTTO_INDEX_MAPPED or 0")
            );
        }
        *index = open(VectorIndex::load({"path", utf8(path, "path")}, (flags & SOTTO_INDEX_MAPPED) != 0));
        return SOTTO_OK;
    });
}
