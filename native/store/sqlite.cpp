#include "store/sqlite.hpp"

#include <algorithm>
#include <new>

#include <sqlite3.h>

#include "base/error.hpp"
#include "store/case_fold.hpp"

namespace sotto::store {
namespace {

constexpr int kBusyTimeoutMs = 2000;        // for a store that another process is closing
constexpr const char* kRows = "sotto rows"; // type of the pointers of bind_rows()

std::string uri_of(const std::string& path) {
    constexpr const char* kDigits = "0123456789ABCDEF";
#ifdef _WIN32
    constexpr bool kWindows = true;
#else
    constexpr bool kWindows = false;
#endif
    const bool has_drive = kWindows && path.size() > 1 && path[1] == ':';
    const bool is_absolute = !path.empty() && (path[0] == '/' || (kWindows && path[0] == '\\'));
    std::string uri = has_drive ? "file:///" : is_absolute ? "file://" : "file:"; // the authority is empty
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (kWindows && c == '\\') {
            uri += '/';
        } else if (c == '%' || c == '?' || c == '#' || byte >= 0x80) {
            uri.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
        } else {
            uri += c;
        }
    }
    return uri + "?immutable=1";
}

std::string_view text_of(sqlite3_value* value) noexcept {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    return text == nullptr ? std::string_view()
                           : std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

// The SQL function sotto_contains(text, part): 1 if `text` contains `part`, which is folded, in any case.
void contains(sqlite3_context* context, int, sqlite3_value** values) noexcept {
    try {
        const auto whole = folded(text_of(values[0]));
        sqlite3_result_int(context, whole.find(text_of(values[1])) != std::string::npos ? 1 : 0);
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(context);
    }
}

// The SQL function sotto_is_in(rows, number).
void is_in(sqlite3_context* context, int, sqlite3_value** values) noexcept {
    const auto* rows = static_cast<std::vector<std::int64_t>*>(sqlite3_value_pointer(values[0], kRows));
    const auto number = sqlite3_value_int64(values[1]);
    const bool is = rows == nullptr || std::binary_search(rows->begin(), rows->end(), number);
    sqlite3_result_int(context, is ? 1 : 0);
}

using SqlFunction = void (*)(sqlite3_context*, int, sqlite3_value**);

int add_function(sqlite3* database, const char* name, SqlFunction function) noexcept {
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    return sqlite3_create_function_v2(database, name, 2, flags, nullptr, function, nullptr, nullptr, nullptr);
}

void limit(sqlite3* database) noexcept {
    constexpr std::pair<int, int> kLimits[] = {
        {SQLITE_LIMIT_LENGTH, 64 << 20},
        {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
        {SQLITE_LIMIT_COLUMN, 64},
        {SQLITE_LIMIT_EXPR_DEPTH, 200},
        {SQLITE_LIMIT_COMPOUND_SELECT, 10},
        {SQLITE_LIMIT_FUNCTION_ARG, 16},
        {SQLITE_LIMIT_ATTACHED, 1}, // VACUUM attaches its copy
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (const auto& [what, most] : kLimits) {
        sqlite3_limit(database, what, most);
    }
}

int add_token(void* context, int, const char* token, int size, int, int) noexcept {
    auto& [tokens, most] = *static_cast<std::pair<std::vector<std::string>*, std::size_t>*>(context);
    try {
        if (tokens->size() < most) {
            tokens->emplace_back(token, static_cast<std::size_t>(size));
        }
        return SQLITE_OK;
    } catch (const std::bad_alloc&) {
        return SQLITE_NOMEM;
    }
}

fts5_api* full_text_api(sqlite3* database) noexcept {
    fts5_api* api = nullptr;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &statement, nullptr) == SQLITE_OK) {
        sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", nullptr);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    return api;
}

// What is wrong, for an error message, and the way out. An empty text: an internal error.
std::pair<sotto_status, std::string> meaning(int code) {
    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return {
            SOTTO_ERROR_BUSY,
            "is open elsewhere: close it in the other process or handle, or open both with read_only"
        };
    case SQLITE_FULL:
        return {SOTTO_ERROR_STATE, "cannot be written: the disk is full; make room and repeat the call"};
    case SQLITE_IOERR:
        return {
            SOTTO_ERROR_STATE,
            "cannot be read or written: the system reports an error of the disk; make room, check the disk, "
            "and "
            "repeat the call"
        };
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return {
            SOTTO_ERROR_STATE,
            "cannot be written: the file or its folder is read-only; open it with read_only, or use a folder "
            "that this user may write to"
        };
    case SQLITE_CANTOPEN:
        return {
            SOTTO_ERROR_STATE,
            "cannot be opened: check that this user may read the file and write to its folder, or open it "
            "with read_only"
        };
    case SQLITE_NOTADB:
        return {SOTTO_ERROR_STATE, "is not a database; use another id, or delete the file"};
    case SQLITE_CORRUPT:
    case SQLITE_MISMATCH:
    case SQLITE_FORMAT:
        return {SOTTO_ERROR_STATE, "is damaged; restore the file from a copy, or delete the store"};
    case SQLITE_TOOBIG:
        return {SOTTO_ERROR_ARGUMENT, "takes no text or blob of more than 64 MB; split the entry"};
    default:
        return {SOTTO_ERROR_INTERNAL, ""};
    }
}

} // namespace

Database::Database(std::string path, std::string name, Access access) : name_(std::move(name)) {
    const int flags = SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX |
                      (access == Access::exclusive ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                      (access == Access::immutable ? SQLITE_OPEN_URI : 0);
    const auto where = access == Access::immutable ? uri_of(path) : std::move(path);
    const int code = sqlite3_open_v2(where.c_str(), &database_, flags, nullptr);
    try {
        if (code != SQLITE_OK) {
            fail(code);
        }
        if (access == Access::exclusive && sqlite3_db_readonly(database_, "main") == 1) {
            fail(SQLITE_READONLY); // SQLite opens a file that it may not write for reading
        }
        configure(access);
    } catch (const std::exception&) {
        sqlite3_close_v2(database_);
        throw;
    }
}

Database::~Database() {
    sqlite3_close_v2(database_);
}

void Database::configure(Access access) {
    if (access == Access::exclusive) {
        // First, because other settings read the file. Holds the file's lock until the connection closes, so
        // that the WAL needs no shared memory in a file.
        run("PRAGMA locking_mode = EXCLUSIVE");
    }
    limit(database_);
    // The file may come from a stranger: no SQL of its schema may run functions that are not harmless.
    sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_busy_timeout(database_, kBusyTimeoutMs);
    int code = add_function(database_, "sotto_contains", contains);
    code = code != SQLITE_OK ? code : add_function(database_, "sotto_is_in", is_in);
    if (code != SQLITE_OK) {
        fail(code);
    }
    run("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;"
        "PRAGMA cache_size = -16000; PRAGMA foreign_keys = OFF");
}

void Database::run(const char* sql) {
    const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
        fail(code);
    }
}

std::int64_t Database::integer(const char* sql) {
    Statement statement(*this, sql);
    Run run(statement);
    return run.step() ? run.integer(0) : 0;
}

std::string Database::text(const char* sql) {
    Statement statement(*this, sql);
    Run run(statement);
    return run.step() ? std::string(run.text(0)) : "";
}

std::int64_t Database::last_row() const noexcept {
    return sqlite3_last_insert_rowid(database_);
}

std::int64_t Database::changes() const noexcept {
    return sqlite3_changes64(database_);
}

bool Database::in_transaction() const noexcept {
    return sqlite3_get_autocommit(database_) == 0;
}

sqlite3_file* Database::file() {
    sqlite3_file* file = nullptr;
    const int code = sqlite3_file_control(database_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || file == nullptr || file->pMethods == nullptr) {
        fail(code != SQLITE_OK ? code : SQLITE_CANTOPEN);
    }
    return file;
}

std::uint64_t Database::file_size() {
    auto* const opened = file();
    sqlite3_int64 size = 0;
    if (const int code = opened->pMethods->xFileSize(opened, &size); code != SQLITE_OK) {
        fail(code);
    }
    return static_cast<std::uint64_t>(size);
}

void Database::read_file(std::uint64_t offset, std::span<char> bytes) {
    auto* const opened = file();
    const auto at = static_cast<sqlite3_int64>(offset);
    const int code = opened->pMethods->xRead(opened, bytes.data(), static_cast<int>(bytes.size()), at);
    if (code != SQLITE_OK) {
        fail(code);
    }
}

void Database::replace_by(Database& other) {
    auto* const copy = sqlite3_backup_init(database_, "main", other.database_, "main");
    if (copy == nullptr) {
        fail(sqlite3_extended_errcode(database_));
    }
    const int code = sqlite3_backup_step(copy, -1);
    sqlite3_backup_finish(copy); // undoes an incomplete one
    if (code != SQLITE_DONE) {
        fail(code);
    }
}

std::vector<std::string> Database::tokens(std::string_view text, std::size_t most) {
    std::vector<std::string> found;
    auto* const api = full_text_api(database_);
    fts5_tokenizer functions{};
    void* context = nullptr;
    if (api == nullptr || api->xFindTokenizer(api, "unicode61", &context, &functions) != SQLITE_OK) {
        fail(SQLITE_ERROR);
    }
    const char* arguments[] = {"remove_diacritics", "2"}; // as in the schema
    Fts5Tokenizer* tokenizer = nullptr;
    if (functions.xCreate(context, arguments, 2, &tokenizer) != SQLITE_OK) {
        throw std::bad_alloc();
    }
    std::pair<std::vector<std::string>*, std::size_t> target{&found, most};
    const int code = functions.xTokenize(
        tokenizer, &target, FTS5_TOKENIZE_QUERY, text.data(), static_cast<int>(text.size()), add_token
    );
    functions.xDelete(tokenizer);
    if (code != SQLITE_OK) {
        fail(code);
    }
    return found;
}

void Database::fail(int code) {
    if ((code & 0xFF) == SQLITE_NOMEM) {
        throw std::bad_alloc();
    }
    const auto [status, text] = meaning(code);
    if (text.empty()) {
        throw Error(status, "store '" + name_ + "': SQLite reports: " + sqlite3_errmsg(database_));
    }
    const std::string number =
        (code & 0xFF) == SQLITE_IOERR ? " (SQLite error " + std::to_string(code) + ")" : "";
    throw Error(status, "store '" + name_ + "' " + text + number);
}

Statement::Statement(Database& database, const std::string& sql) : database_(&database) {
    const int code = sqlite3_prepare_v3(
        database.raw(),
        sql.c_str(),
        static_cast<int>(sql.size()) + 1,
        SQLITE_PREPARE_PERSISTENT,
        &statement_,
        nullptr
    );
    if (code != SQLITE_OK) {
        database.fail(code);
    }
}

Statement::~Statement() {
    sqlite3_finalize(statement_);
}

Run::~Run() {
    sqlite3_reset(statement_.statement_);
    sqlite3_clear_bindings(statement_.statement_);
}

void Run::check(int code) {
    if (code != SQLITE_OK) {
        statement_.database_->fail(code);
    }
}

Run& Run::bind(std::int64_t value) {
    check(sqlite3_bind_int64(statement_.statement_, ++bound_, value));
    return *this;
}

Run& Run::bind(double value) {
    check(sqlite3_bind_double(statement_.statement_, ++bound_, value));
    return *this;
}

Run& Run::bind(std::string_view text) {
    const char* data = text.data() != nullptr ? text.data() : ""; // NULL would bind NULL
    check(
        sqlite3_bind_text64(statement_.statement_, ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8)
    );
    return *this;
}

Run& Run::bind_blob(std::span<const std::byte> bytes) {
    check(sqlite3_bind_blob64(statement_.statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC));
    return *this;
}

Run& Run::bind_rows(const std::vector<std::int64_t>* rows) {
    auto* pointer = const_cast<std::vector<std::int64_t>*>(rows); // read only: see is_in()
    check(sqlite3_bind_pointer(statement_.statement_, ++bound_, pointer, kRows, nullptr));
    return *this;
}

bool Run::step() {
    const int code = sqlite3_step(statement_.statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        statement_.database_->fail(code);
    }
    return code == SQLITE_ROW;
}

std::int64_t Run::integer(int column) const noexcept {
    return sqlite3_column_int64(statement_.statement_, column);
}

double Run::real(int column) const noexcept {
    return sqlite3_column_double(statement_.statement_, column);
}

std::string_view Run::text(int column) const noexcept {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.statement_, column));
    const int size = sqlite3_column_bytes(statement_.statement_, column);
    return text == nullptr ? std::string_view() : std::string_view(text, static_cast<std::size_t>(size));
}

std::span<const std::byte> Run::blob(int column) const noexcept {
    const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_.statement_, column));
    const int size = sqlite3_column_bytes(statement_.statement_, column);
    return bytes == nullptr ? std::span<const std::byte>() : std::span(bytes, static_cast<std::size_t>(size));
}

Transaction::Transaction(Database& database) : database_(database) {
    database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
    if (database_.in_transaction()) {
        try {
            database_.run("ROLLBACK");
        } catch (const std::exception&) { // SQLite has rolled back by itself, or does so when it closes
            return;
        }
    }
}

void Transaction::commit() {
    database_.run("COMMIT");
}

} // namespace sotto::store
