// Writes the results of sotto/store.h as JSON.
#include <array>
#include <charconv>
#include <optional>

#include "core/codec/store_body.hpp"
#include "core/session/session_body.hpp"
#include "text/json_reader.hpp"
#include "text/utf8_stream.hpp"

namespace sotto {
namespace {

// Appends the fields of a JSON object, written directly: an embedding as a tree of values would be slow.
class ObjectWriter {
public:
    explicit ObjectWriter(std::string& out) : out_(out) {}

    std::string& name(const char* key) {
        out_.append(out_.back() == '{' ? "\"" : ",\"").append(key).append("\":");
        return out_;
    }
    void text(const char* key, std::string_view value) {
        name(key) += sotto::quoted(well_formed_utf8(value));
    }
    void integer(const char* key, std::int64_t value) { name(key) += std::to_string(value); }
    void boolean(const char* key, bool value) { name(key) += value ? "true" : "false"; }
    template <typename Number>
    void number(const char* key, Number value) {
        name(key);
        append(value);
    }
    void numbers(const char* key, const std::vector<float>& values) {
        name(key) += '[';
        for (const float value : values) {
            append(value);
            out_ += ',';
        }
        out_.back() = ']';
    }

private:
    template <typename Number>
    void append(Number value) {
        std::array<char, 32> text{};
        const auto result =
            std::to_chars(text.data(), text.data() + text.size(), value); // shortest exact form
        const std::string_view written(text.data(), static_cast<std::size_t>(result.ptr - text.data()));
        out_.append(written).append(written.find_first_of(".e") == written.npos ? ".0" : ""); // no integer
    }

    std::string& out_;
};

// Appends the fields of an entry. A database that was tampered with may hold metadata that is not JSON.
void append_entry(std::string& out, const store::Entry& entry) {
    ObjectWriter object(out);
    object.text("id", entry.id);
    object.text("namespace", entry.space);
    object.text("key", entry.key);
    object.text("value", entry.value);
    if (!entry.embedding.empty()) {
        object.numbers("embedding", entry.embedding);
    }
    object.number("priority", entry.priority);
    object.number("importance", entry.importance);
    object.integer("created_ms", entry.created_ms);
    object.integer("accessed_ms", entry.accessed_ms);
    object.name("metadata") += is_json(entry.metadata) ? entry.metadata : "{}";
}

} // namespace

std::string write_store_ids(const std::vector<std::string>& ids) {
    std::string out = "[";
    for (const auto& id : ids) {
        out += (out.size() > 1 ? "," : "") + sotto::quoted(id);
    }
    return out + "]";
}

std::string write_store_entry(const store::Entry& entry) {
    std::string out = "{";
    append_entry(out, entry);
    return out + "}";
}

std::string write_store_page(const store::Page& page) {
    std::string out = "{\"entries\":[";
    for (const auto& entry : page.entries) {
        out += out.back() == '[' ? "{" : ",{";
        append_entry(out, entry);
        out += '}';
    }
    out += ']';
    if (page.next != 0) {
        out += ",\"next\":" + std::to_string(page.next);
    }
    return out + "}";
}

std::string write_store_results(const std::vector<store::StoreResult>& results) {
    std::string out = "[";
    for (const auto& one : results) {
        out += out.size() > 1 ? ",{" : "{";
        append_entry(out, one.entry);
        ObjectWriter object(out);
        object.number("score", one.score);
        object.number("relevance", one.relevance);
        object.number("recency", one.recency);
        if (one.similarity) {
            object.number("similarity", *one.similarity);
        }
        if (one.text_score) {
            object.number("text_score", *one.text_score);
        }
        out += '}';
    }
    return out + "]";
}

std::string write_store_info(std::string_view id, const store::StoreInfo& info) {
    std::string out = "{";
    ObjectWriter object(out);
    object.text("id", id);
    object.integer("dim", info.dim);
    object.integer("entries", info.entries);
    object.integer("embeddings", info.embeddings);
    object.integer("generation", info.generation);
    object.integer("file_bytes", static_cast<std::int64_t>(info.file_bytes));
    object.boolean("read_only", info.read_only);
    return out + "}";
}

} // namespace sotto
