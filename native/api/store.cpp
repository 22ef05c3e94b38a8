// Implements sotto/store.h and sotto/store_backup.h.
#include <memory>
#include <span>
#include <string>

#include "api/boundary.hpp"
#include "api/checks.hpp"
#include "api/handle_table.hpp"
#include "api/lent.hpp"
#include "core/codec/store_body.hpp"
#include "store/store.hpp"

using namespace sotto::api;
using sotto::Error;
using sotto::store::Store;

namespace {

// A store with its id, which it is described by.
struct OpenStore {
    std::string id;
    Store store;
};

struct StoreKind {
    static constexpr const char* kName = "store";
    static constexpr const char* kPlural = "stores";
    static constexpr unsigned kNumber = 2;
    static constexpr std::size_t kMax = 256;
};
using StoreTable = HandleTable<OpenStore, StoreKind>;

StoreTable g_stores;

class Pinned {
public:
    explicit Pinned(sotto_store* handle) : pin_(g_stores, reinterpret_cast<std::uintptr_t>(handle)) {}
    Store* operator->() const noexcept { return &pin_->store; }
    const std::string& id() const noexcept { return pin_->id; }

private:
    StoreTable::Pin pin_;
};

std::string_view json(sotto_str text, const char* name) {
    return checked_size(view(text, name), name);
}

std::span<const float> floats(const float* values, size_t count, const char* name) {
    constexpr size_t kMax = size_t{1} << 30; // values: 4 GB
    if (count != 0) {
        require(values, name);
    }
    if (count > kMax) {
        throw sotto::invalid_argument(
            "count", std::to_string(count), "at most 1073741824 floats; insert in parts"
        );
    }
    return {values, values == nullptr ? 0 : count};
}

// Clears an output that may be NULL.
void clear(sotto_str* text) {
    if (text != nullptr) {
        *text = {};
    }
}

[[noreturn]] void not_found(const std::string& store, std::string_view id) {
    throw Error(SOTTO_ERROR_NOT_FOUND, "no entry '" + std::string(id) + "' in store '" + store + "'");
}

} // namespace

sotto_status sotto_store_open(const sotto_store_desc* desc, sotto_store** store) {
    return guarded([&] {
        auto& out = deref(store, "store");
        out = nullptr;
        const auto given = read(desc, "desc");
        constexpr sotto_store_flags kFlags = SOTTO_STORE_CREATE | SOTTO_STORE_READ_ONLY;
        if ((given.flags & ~kFlags) != 0) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                sotto::invalid("desc->flags", std::to_string(given.flags), "only SOTTO_STORE_ flags")
            );
        }
        constexpr std::uint32_t kMaxDim = 16384;
        if (given.dim > kMaxDim) {
            throw sotto::invalid_argument("desc->dim", std::to_string(given.dim), "0 to 16384");
        }
        sotto::store::StoreOptions options;
        options.folder = required(given.folder, "desc->folder");
        options.id = required(given.id, "desc->id");
        options.dim = given.dim;
        options.create = (given.flags & SOTTO_STORE_CREATE) != 0;
        options.read_only = (given.flags & SOTTO_STORE_READ_ONLY) != 0;
        auto opened = std::unique_ptr<OpenStore>(new OpenStore{options.id, Store(options)});
        out = reinterpret_cast<sotto_store*>(g_stores.open(std::move(opened)));
        return SOTTO_OK;
    });
}

void sotto_store_close(sotto_store* store) {
    // the store ends here, after the calls that are running on it
    g_stores.close(reinterpret_cast<std::uintptr_t>(store), [](OpenStore&) {});
}

sotto_status sotto_store_delete(sotto_str folder, sotto_str id) {
    return guarded([&] {
        Store::destroy(required(folder, "folder"), required(id, "id"));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_list_ids(sotto_str folder, sotto_str* ids) {
    return guarded([&] {
        auto& out = deref(ids, "ids");
        out = {};
        out = lend(sotto::write_store_ids(sotto::store::stores_in(required(folder, "folder"))));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_info(sotto_store* store, sotto_str* info) {
    return guarded([&] {
        auto& out = deref(info, "info");
        out = {};
        const Pinned pinned(store);
        out = lend(sotto::write_store_info(pinned.id(), pinned->info()));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_insert(
    sotto_store* store, sotto_str entries, const float* vectors, size_t count, sotto_str* ids
) {
    return guarded([&] {
        clear(ids);
        const Pinned pinned(store);
        auto insertion =
            sotto::read_store_insertion(json(entries, "entries"), floats(vectors, count, "vectors"));
        auto& lent_json = lent(); // allocated before the insertion, which cannot be undone
        lent_json.json =
            sotto::write_store_ids(pinned->insert(std::move(insertion.entries), insertion.replace));
        if (ids != nullptr) {
            *ids = str(lent_json.json);
        }
        return SOTTO_OK;
    });
}

sotto_status sotto_store_update(sotto_store* store, sotto_str id, sotto_str changes) {
    return guarded([&] {
        const Pinned pinned(store);
        const auto name = required(id, "id");
        if (!pinned->update(name, sotto::read_store_change(json(changes, "changes")))) {
            not_found(pinned.id(), name);
        }
        return SOTTO_OK;
    });
}

sotto_status sotto_store_remove(sotto_store* store, sotto_str which, uint64_t* removed) {
    return guarded([&] {
        if (removed != nullptr) {
            *removed = 0;
        }
        const Pinned pinned(store);
        const auto removal = sotto::read_store_removal(json(which, "which"));
        const auto count = removal.by_id ? pinned->remove(removal.ids) : pinned->remove(removal.filter);
        if (removed != nullptr) {
            *removed = static_cast<uint64_t>(count);
        }
        return SOTTO_OK;
    });
}

sotto_status sotto_store_get(sotto_store* store, sotto_str id, sotto_str options, sotto_str* entry) {
    return guarded([&] {
        auto& out = deref(entry, "entry");
        out = {};
        const Pinned pinned(store);
        const auto name = required(id, "id");
        const auto found = pinned->get(name, sotto::read_store_with_embedding(json(options, "options")));
        if (!found) {
            not_found(pinned.id(), name);
        }
        out = lend(sotto::write_store_entry(*found));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_list(sotto_store* store, sotto_str options, sotto_str* page) {
    return guarded([&] {
        auto& out = deref(page, "page");
        out = {};
        const Pinned pinned(store);
        out = lend(sotto::write_store_page(pinned->list(sotto::read_store_list(json(options, "options")))));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_count(sotto_store* store, sotto_str filter, uint64_t* count) {
    return guarded([&] {
        auto& out = deref(count, "count");
        out = 0;
        const Pinned pinned(store);
        out = static_cast<uint64_t>(pinned->count(sotto::read_store_filter(json(filter, "filter"))));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_query(
    sotto_store* store, sotto_str query, const float* vector, size_t count, sotto_str* results
) {
    return guarded([&] {
        auto& out = deref(results, "results");
        out = {};
        const Pinned pinned(store);
        const auto asked = sotto::read_store_query(json(query, "query"), floats(vector, count, "vector"));
        out = lend(sotto::write_store_results(pinned->query(asked)));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_backup(sotto_store* store, sotto_str path) {
    return guarded([&] {
        Pinned(store)->backup(std::string(required(path, "path")));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_restore(sotto_store* store, sotto_str path) {
    return guarded([&] {
        Pinned(store)->restore(std::string(required(path, "path")));
        return SOTTO_OK;
    });
}

sotto_status sotto_store_compact(sotto_store* store) {
    return guarded([&] {
        Pinned(store)->compact();
        return SOTTO_OK;
    });
}

sotto_status sotto_store_check(sotto_store* store) {
    return guarded([&] {
        Pinned(store)->check();
        return SOTTO_OK;
    });
}
