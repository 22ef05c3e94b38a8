#include "store/store.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/error.hpp"
#include "base/path.hpp"
#include "store/checks.hpp"
#include "store/ranking.hpp"
#include "store/store_copy.hpp"

namespace sotto::store {
namespace {

constexpr std::size_t kMinCandidates = 64;

std::int64_t now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

// Opens a connection for reading. Readers of a WAL share two files, which cannot be created in a read-only
// folder; there, a store that was closed properly is opened as an immutable file.
std::unique_ptr<Database> open_shared(const StoreFiles& files, const std::string& path) {
    try {
        auto database = std::make_unique<Database>(path, files.id(), Access::shared);
        database->integer("SELECT count(*) FROM sqlite_schema");
        return database;
    } catch (const Error& error) {
        if (error.status() != SOTTO_ERROR_STATE || files.has_wal()) {
            throw;
        }
    }
    return std::make_unique<Database>(path, files.id(), Access::immutable);
}

std::unique_ptr<Database> open_exclusive(const StoreFiles& files, const std::string& path) {
    auto database = std::make_unique<Database>(path, files.id(), Access::exclusive);
    database->run("PRAGMA page_size = 8192"); // holds five embeddings of 384 values; ignored if it exists
    database->text("PRAGMA journal_mode = WAL");
    database->run("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216");
    return database;
}

std::unique_ptr<Database> connect(const StoreFiles& files, const StoreOptions& options) {
    if (!files.exists()) {
        if (!options.create || options.read_only) {
            throw Error(
                SOTTO_ERROR_NOT_FOUND,
                "no store '" + options.id + "' in '" + options.folder +
                    "': create it first, or check folder and id"
            );
        }
        files.create();
    }
    const auto path = utf8_of(files.database());
    return options.read_only ? open_shared(files, path) : open_exclusive(files, path);
}

} // namespace

Store::Store(const StoreOptions& options)
    : files_(options.folder, options.id), read_only_(options.read_only) {
    database_ = connect(files_, options);
    prepare_schema(*database_, files_.id(), options.dim, !read_only_);
    facts_ = read_facts(*database_, files_.id());
    if (options.dim != 0 && options.dim != facts_.dim) {
        throw Error(
            SOTTO_ERROR_STATE,
            invalid(
                "dim",
                std::to_string(options.dim),
                std::to_string(facts_.dim) + ", as store '" + files_.id() +
                    "' was created with; use another id, or 0 for the store's own"
            )
        );
    }
    read_tables();
    if (!read_only_) {
        vectors_->save(); // if it had to be built
    }
}

// Prepares the statements, and reads the vectors.
void Store::read_tables() {
    auto entries = std::make_unique<EntryTable>(*database_);
    auto text = std::make_unique<TextSearch>(*database_);
    vectors_ = std::make_unique<StoreVectors>(*database_, *entries, files_, facts_);
    entries_ = std::move(entries);
    text_ = std::move(text);
    vectors_->get();
}

Store::~Store() {
    if (read_only_) {
        return;
    }
    try {
        vectors_->save();
    } catch (const std::exception&) { // no room: the next open() builds the index again
        return;
    }
}

void Store::destroy(std::string_view folder, std::string_view id) {
    const StoreFiles files(folder, id);
    if (!files.exists()) {
        throw Error(
            SOTTO_ERROR_NOT_FOUND,
            "no store '" + std::string(id) + "' in '" + std::string(folder) + "': check folder and id"
        );
    }
    try { // takes the lock, which fails if the store is open
        Database database(utf8_of(files.database()), files.id(), Access::exclusive);
        database.run("BEGIN EXCLUSIVE; ROLLBACK");
    } catch (const Error& error) {
        if (error.status() == SOTTO_ERROR_BUSY) {
            throw;
        } // else the database is damaged, which is a reason to remove it
    }
    files.remove();
}

void Store::require_writable() const {
    if (read_only_) {
        throw Error(
            SOTTO_ERROR_STATE, "store '" + files_.id() + "' is open with read_only; open it for writing"
        );
    }
}

void Store::require_dim(std::size_t size) const {
    if (size != facts_.dim) {
        throw Error(
            SOTTO_ERROR_STATE,
            invalid(
                "embedding",
                std::to_string(size) + " values",
                facts_.dim == 0
                    ? "none: store '" + files_.id() + "' was created without embeddings (dim 0)"
                    : std::to_string(facts_.dim) + " values, the dim of store '" + files_.id() + "'"
            )
        );
    }
}

void Store::next_generation() {
    write_fact(*database_, "generation", std::to_string(facts_.generation + 1));
}

// Writes one entry and adds its row to `changed`.
void Store::write(Entry& entry, bool replace, std::vector<std::int64_t>& changed) {
    entry.created_ms = entry.created_ms != 0 ? entry.created_ms : now();
    entry.accessed_ms = entry.accessed_ms != 0 ? entry.accessed_ms : entry.created_ms;
    const bool named = !entry.id.empty();
    if (!named) {
        entry.id = random_digits(24);
    }
    const auto existing = named ? entries_->find(entry.id) : std::nullopt;
    if (existing && !replace) {
        throw Error(
            SOTTO_ERROR_STATE,
            "invalid id '" + entry.id + "': expected an id that is not in store '" + files_.id() +
                "'; set replace, or update the entry"
        );
    }
    const auto number = existing ? *existing : entries_->insert(entry);
    if (existing) {
        entries_->replace(number, entry);
    }
    if (!entry.embedding.empty()) {
        entries_->write_embedding(number, facts_.generation + 1, entry.embedding);
    } else if (existing) {
        entries_->remove_embedding(number);
    }
    changed.push_back(number);
}

std::vector<std::string> Store::insert(std::vector<Entry> entries, bool replace) {
    for (const auto& entry : entries) {
        check_entry(entry);
    }
    const std::lock_guard lock(mutex_);
    require_writable();
    for (const auto& entry : entries) {
        if (!entry.embedding.empty()) {
            require_dim(entry.embedding.size());
        }
    }
    auto& searched = vectors_->get();
    std::vector<std::int64_t> changed;
    std::vector<std::string> ids;
    Transaction transaction(*database_);
    for (auto& entry : entries) {
        write(entry, replace, changed);
        ids.push_back(entry.id);
    }
    next_generation();
    transaction.commit();
    ++facts_.generation;
    try {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (entries[i].embedding.empty()) {
                searched.remove(changed[i]);
            } else {
                searched.set(changed[i], entries[i].embedding);
            }
        }
        searched.build();
    } catch (const std::exception&) {
        vectors_->drop(); // what is written is written: the next call reads the vectors again
    }
    return ids;
}

bool Store::update(std::string_view id, const EntryChange& change) {
    const std::lock_guard lock(mutex_);
    require_writable();
    const auto number = entries_->find(id);
    const auto row = number ? entries_->read(*number) : std::nullopt;
    if (!row) {
        return false;
    }
    auto entry = row->entry;
    entry.space = change.space.value_or(entry.space);
    entry.key = change.key.value_or(entry.key);
    entry.value = change.value.value_or(entry.value);
    entry.priority = change.priority.value_or(entry.priority);
    entry.importance = change.importance.value_or(entry.importance);
    entry.accessed_ms = change.accessed_ms.value_or(entry.accessed_ms);
    entry.metadata = change.metadata.value_or(entry.metadata);
    entry.embedding = change.embedding.value_or(std::vector<float>());
    check_entry(entry);
    if (!entry.embedding.empty()) {
        require_dim(entry.embedding.size());
    }
    auto& searched = vectors_->get();
    Transaction transaction(*database_);
    entries_->replace(*number, entry);
    if (change.embedding && !entry.embedding.empty()) {
        entries_->write_embedding(*number, facts_.generation + 1, entry.embedding);
    } else if (change.embedding) {
        entries_->remove_embedding(*number);
    }
    if (change.embedding) {
        next_generation();
    }
    transaction.commit();
    if (change.embedding) {
        ++facts_.generation;
        try {
            searched.remove(*number);
            if (!entry.embedding.empty()) {
                searched.set(*number, entry.embedding);
                searched.build();
            }
        } catch (const std::exception&) {
            vectors_->drop();
        }
    }
    return true;
}

std::int64_t Store::remove_rows(const std::vector<std::int64_t>& rows) {
    auto& searched = vectors_->get();
    Transaction transaction(*database_);
    for (const auto number : rows) {
        entries_->remove(number);
    }
    next_generation();
    transaction.commit();
    ++facts_.generation;
    for (const auto number : rows) {
        searched.remove(number);
    }
    return static_cast<std::int64_t>(rows.size());
}

std::int64_t Store::remove(const std::vector<std::string>& ids) {
    const std::lock_guard lock(mutex_);
    require_writable();
    std::vector<std::int64_t> rows;
    for (const auto& id : ids) {
        if (const auto number = entries_->find(id)) {
            rows.push_back(*number);
        }
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end()); // an id may be given twice
    return rows.empty() ? 0 : remove_rows(rows);
}

std::int64_t Store::remove(const Filter& filter) {
    const std::lock_guard lock(mutex_);
    require_writable();
    const auto rows = entries_->matching(filter);
    return rows.empty() ? 0 : remove_rows(rows);
}

std::optional<Entry> Store::get(std::string_view id, bool with_embedding) {
    const std::lock_guard lock(mutex_);
    const auto number = entries_->find(id);
    auto row = number ? entries_->read(*number) : std::nullopt;
    if (!row) {
        return std::nullopt;
    }
    if (with_embedding) {
        row->entry.embedding = entries_->embedding(row->number);
    }
    return std::move(row->entry);
}

Page Store::list(const ListOptions& options) {
    const std::lock_guard lock(mutex_);
    auto rows =
        entries_->page(options.filter, options.after, options.limit + 1); // one more: is there a next?
    Page page;
    if (rows.size() > options.limit) {
        rows.pop_back();
        page.next = rows.empty() ? 0 : rows.back().number;
    }
    for (auto& row : rows) {
        if (options.with_embedding) {
            row.entry.embedding = entries_->embedding(row.number);
        }
        page.entries.push_back(std::move(row.entry));
    }
    return page;
}

std::int64_t Store::count(const Filter& filter) {
    const std::lock_guard lock(mutex_);
    return entries_->count(filter);
}

// Runs the searches of a query. Without any, the entries that were accessed last are the candidates.
std::vector<Candidate> Store::candidates(const StoreQuery& query) {
    const auto most = query.candidates != 0 ? query.candidates : std::max(4 * query.limit, kMinCandidates);
    std::vector<std::int64_t> allowed;
    const std::vector<std::int64_t>* only = nullptr;
    if (query.prefilter && !query.filter.is_empty()) {
        allowed = entries_->matching(query.filter);
        only = &allowed;
    }
    std::vector<VectorMatch> similar;
    std::vector<TextMatch> worded;
    if (!query.embedding.empty()) {
        similar = vectors_->get().find(query.embedding, most, only);
    }
    if (!query.text.empty()) {
        worded = text_->find(query.text, most, only);
    }
    if (!query.embedding.empty() || !query.text.empty()) {
        return merged(query.embedding.empty() ? nullptr : &similar, query.text.empty() ? nullptr : &worded);
    }
    std::vector<Candidate> all;
    for (const auto number : entries_->recent(query.prefilter ? query.filter : Filter(), most)) {
        all.push_back({.number = number, .similarity = {}, .text_score = {}});
    }
    return all;
}

// Reads and scores a candidate. Returns nothing if it does not match the filter.
std::optional<StoreResult>
Store::result(const Candidate& candidate, const StoreQuery& query, std::int64_t now_ms) {
    auto row = query.prefilter ? entries_->read(candidate.number)
                               : entries_->read_matching(candidate.number, query.filter);
    if (!row) {
        return std::nullopt;
    }
    StoreResult result;
    result.entry = std::move(row->entry);
    result.similarity = candidate.similarity;
    result.text_score = candidate.text_score;
    if (query.with_embedding || (!query.embedding.empty() && !result.similarity)) {
        auto embedding = entries_->embedding(candidate.number);
        if (!result.similarity && embedding.size() == query.embedding.size() && !embedding.empty()) {
            result.similarity = cosine(query.embedding, embedding);
        }
        result.entry.embedding = query.with_embedding ? std::move(embedding) : std::vector<float>();
    }
    result.relevance = candidate.relevance;
    result.recency = recency(result.entry.accessed_ms, now_ms, query.half_life_s);
    result.score = combined_score(query.weights, result.relevance, result.recency, result.entry);
    return result;
}

void Store::touch(const std::vector<StoreResult>& results, std::int64_t now_ms) {
    Transaction transaction(*database_);
    for (const auto& one : results) {
        if (const auto number = entries_->find(one.entry.id)) {
            entries_->touch(*number, now_ms);
        }
    }
    transaction.commit();
}

std::vector<StoreResult> Store::query(const StoreQuery& query) {
    check_query(query);
    const auto now_ms = query.now_ms != 0 ? query.now_ms : now();
    const std::lock_guard lock(mutex_);
    if (!query.embedding.empty()) {
        require_dim(query.embedding.size());
    }
    if (query.touch) {
        require_writable();
    }
    std::vector<StoreResult> results;
    for (const auto& candidate : candidates(query)) {
        if (auto one = result(candidate, query, now_ms)) {
            results.push_back(*std::move(one));
        }
    }
    std::stable_sort(results.begin(), results.end(), [](const StoreResult& a, const StoreResult& b) {
        return a.score > b.score;
    });
    results.resize(std::min(results.size(), query.limit));
    if (query.touch && !results.empty()) {
        touch(results, now_ms);
    }
    return results;
}

StoreInfo Store::info() {
    const std::lock_guard lock(mutex_);
    StoreInfo info;
    info.dim = facts_.dim;
    info.entries = entries_->count();
    info.embeddings = static_cast<std::int64_t>(vectors_->get().size());
    info.generation = facts_.generation;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(files_.database(), error);
    info.file_bytes = error ? 0 : bytes;
    info.read_only = read_only_;
    return info;
}

void Store::compact() {
    const std::lock_guard lock(mutex_);
    require_writable();
    database_->run("INSERT INTO words(words) VALUES('optimize'); VACUUM");
    database_->text("PRAGMA wal_checkpoint(TRUNCATE)");
    vectors_->rebuild();
    vectors_->save();
}

void Store::backup(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (!read_only_) {
        database_->text("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    if (files_.has_wal()) {
        throw Error(
            SOTTO_ERROR_STATE,
            "store '" + files_.id() + "' has changes that only a writer can back up; open it for writing"
        );
    }
    write_backup(*database_, path);
}

void Store::restore(const std::string& path) {
    const std::lock_guard lock(mutex_);
    require_writable();
    read_backup(*database_, path, files_.id(), facts_.dim);
    facts_ = read_facts(*database_, files_.id());
    read_tables();
}

void Store::check() {
    const std::lock_guard lock(mutex_);
    const auto found = database_->text("PRAGMA integrity_check(1)");
    if (found != "ok") {
        throw Error(
            SOTTO_ERROR_STATE,
            "store '" + files_.id() + "' is damaged: " + found.substr(0, 200) +
                "; restore the file from a copy, or delete the store"
        );
    }
}

} // namespace sotto::store
