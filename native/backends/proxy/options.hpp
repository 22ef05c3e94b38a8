// Options of a model of this backend: where its server is, and how it is asked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto::proxy {

// Address of an OpenAI-compatible API.
struct Url {
    bool secure = false; // https
    std::string host;    // without brackets
    int port = 0;
    std::string path; // without a slash at its end; empty: none

    // Host and port, for messages; the port only if it is not the scheme's.
    std::string server() const;
    bool is_loopback() const;
};

struct Options {
    Url url;
    std::string key;   // empty: none
    std::string model; // name of the model at the server; empty: as in the request
    std::vector<std::pair<std::string, std::string>> headers;
    std::string ca_file; // empty: the certificates that the system trusts
    bool verify_ssl = true;
    bool check = false;
    std::uint32_t connect_timeout_ms = 10'000;
    std::uint32_t read_timeout_ms = 60'000;
    std::uint32_t timeout_ms = 0; // 0: no limit
    std::uint32_t max_retries = 2;
    std::uint32_t parallel = 16;

    // Returns `text` without the key and without the values of `headers`.
    std::string redact(std::string text) const;
};

// Reads and checks a model's options, a JSON object. Throws Error(SOTTO_ERROR_ARGUMENT), or
// Error(SOTTO_ERROR_UNSUPPORTED) for https in a build without TLS.
Options read_options(std::string_view text);

} // namespace sotto::proxy
