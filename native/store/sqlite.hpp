// A connection to a SQLite database, and its statements. The only files that see sqlite3.h are sqlite*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct sqlite3;
struct sqlite3_file;
struct sqlite3_stmt;

namespace sotto::store {

enum class Access : std::uint8_t {
    exclusive, // reads and writes; other connections are refused until this one closes
    shared,    // reads, beside other readers
    immutable  // reads a file that nothing changes, without locks and without a WAL
};

// One connection. Not thread-safe. Errors of SQLite are thrown as Error with a status of this library:
// SOTTO_ERROR_BUSY (another connection has the database open), SOTTO_ERROR_STATE (damaged, full disk, not
// writable), SOTTO_ERROR_NOT_FOUND (cannot be opened), SOTTO_ERROR_ARGUMENT (too large).
class Database {
public:
    // Opens an existing file. `name` names the store in error messages.
    Database(std::string path, std::string name, Access access);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    // Runs SQL without parameters and without results.
    void run(const char* sql);
    std::int64_t integer(const char* sql); // the first column of the first row; 0 without a row
    std::string text(const char* sql);     // likewise, as text
    std::int64_t last_row() const noexcept;
    std::int64_t changes() const noexcept; // rows that the last statement changed
    bool in_transaction() const noexcept;

    // Splits `text` into the tokens that the full-text index holds, at most `most`.
    std::vector<std::string> tokens(std::string_view text, std::size_t most);

    // The file of the database, without its WAL. It is read through SQLite's own handle: where locks belong
    // to a process, closing a second handle of the file would release the lock of this connection.
    std::uint64_t file_size();
    void read_file(std::uint64_t offset, std::span<char> bytes);
    // Replaces the content by that of another database, in one transaction. Statements prepared before must
    // be prepared again.
    void replace_by(Database& other);

    // Throws the Error for a result code of SQLite.
    [[noreturn]] void fail(int code);
    sqlite3* raw() const noexcept { return database_; }

private:
    void configure(Access access);
    sqlite3_file* file();

    sqlite3* database_ = nullptr;
    std::string name_;
};

// A prepared statement, kept for the connection's lifetime.
class Statement {
public:
    Statement(Database& database, const std::string& sql);
    ~Statement();
    Statement(Statement&& other) noexcept
        : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}
    Statement& operator=(Statement&&) = delete;

private:
    friend class Run;
    Database* database_;
    sqlite3_stmt* statement_ = nullptr;
};

// One execution of a statement: binds parameters in order, steps, and resets the statement at the end.
// Text and blobs that are bound must outlive the Run; those that are read are valid until the next step().
class Run {
public:
    explicit Run(Statement& statement) noexcept : statement_(statement) {}
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    Run& bind(std::int64_t value);
    Run& bind(double value);
    Run& bind(std::string_view text);
    Run& bind_blob(std::span<const std::byte> bytes);
    // Binds ascending row numbers for the SQL function sotto_is_in(rows, number); null: every number is in.
    Run& bind_rows(const std::vector<std::int64_t>* rows);

    bool step(); // false: no more rows
    bool done() { return !step(); }

    std::int64_t integer(int column) const noexcept;
    double real(int column) const noexcept;
    std::string_view text(int column) const noexcept;
    std::span<const std::byte> blob(int column) const noexcept;

private:
    void check(int code);

    Statement& statement_;
    int bound_ = 0;
};

// A write transaction, rolled back unless it is committed.
class Transaction {
public:
    explicit Transaction(Database& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    void commit();

private:
    Database& database_;
};

} // namespace sotto::store
