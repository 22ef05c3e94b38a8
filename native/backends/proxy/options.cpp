#include "backends/proxy/options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "backends/proxy/text.hpp"

namespace sotto::proxy {
namespace {

constexpr std::string_view kUrlForm = "an address such as 'https://api.example.com/v1'";

Error missing(const char* name, std::string_view expected) {
    return Error(
        SOTTO_ERROR_ARGUMENT, std::string("missing options.") + name + ": expected " + std::string(expected)
    );
}

// The value is not repeated: it may hold a key.
Error invalid_option(const std::string& name, std::string_view expected) {
    return Error(SOTTO_ERROR_ARGUMENT, "invalid options." + name + ": expected " + std::string(expected));
}

// Returns true for printable ASCII without spaces: what a header or an address may hold.
bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_header_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
    });
}

// Returns true for text that fits a header's value: no line break, no other control character.
bool is_header_value(std::string_view value) {
    return std::ranges::all_of(value, [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

int port_of(std::string_view text) {
    int port = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    const bool whole = failed == std::errc() && end == text.data() + text.size();
    if (!whole || port < 1 || port > 65'535) {
        throw invalid_option("base_url", "a port from 1 to 65535 after the host");
    }
    return port;
}

// Splits "host:port" or "[address]:port".
void read_authority(std::string_view authority, Url& url) {
    if (authority.find('@') != std::string_view::npos) {
        throw invalid_option("base_url", "an address without a name or password; use api_key");
    }
    std::string_view rest;
    if (!authority.empty() && authority.front() == '[') {
        const auto end = authority.find(']');
        if (end == std::string_view::npos) {
            throw invalid_option("base_url", kUrlForm);
        }
        url.host = authority.substr(1, end - 1);
        rest = authority.substr(end + 1);
    } else {
        const auto colon = authority.find(':');
        url.host = authority.substr(0, colon);
        rest = colon == std::string_view::npos ? std::string_view() : authority.substr(colon);
    }
    if (url.host.empty() || (!rest.empty() && rest.front() != ':')) {
        throw invalid_option("base_url", kUrlForm);
    }
    url.port = rest.empty() ? (url.secure ? 443 : 80) : port_of(rest.substr(1));
}

Url read_url(const std::string& text) {
    constexpr std::size_t kMaxLength = 2'048;
    Url url;
    const auto end = text.find("://");
    const auto scheme = end == std::string::npos ? std::string() : lower(text.substr(0, end));
    url.secure = scheme == "https";
    if ((scheme != "http" && !url.secure) || !is_plain(text) || text.size() > kMaxLength) {
        throw invalid_option("base_url", kUrlForm);
    }
    if (text.find_first_of("?#\\") != std::string::npos) {
        throw invalid_option("base_url", "an address without '?', '#' or '\\'; use headers for parameters");
    }
    const auto rest = std::string_view(text).substr(end + 3);
    const auto slash = rest.find('/');
    read_authority(rest.substr(0, slash), url);
    url.path = slash == std::string_view::npos ? "" : rest.substr(slash);
    while (!url.path.empty() && url.path.back() == '/') {
        url.path.pop_back();
    }
    return url;
}

std::string read_string(const std::string& name, const Json& value) {
    constexpr std::size_t kMaxLength = 16'384;
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxLength) {
        throw invalid_option(name, "a string of at most 16384 bytes");
    }
    return value.get<std::string>();
}

std::uint32_t read_count(const std::string& name, const Json& value, std::uint32_t min, std::uint32_t max) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < min || value.get<std::int64_t>() > max) {
        const auto range = std::to_string(min) + " to " + std::to_string(max);
        throw invalid_argument("options." + name, text_of(value).substr(0, 40), range);
    }
    return value.get<std::uint32_t>();
}

bool read_flag(const std::string& name, const Json& value) {
    if (!value.is_boolean()) {
        throw invalid_option(name, "true or false");
    }
    return value.get<bool>();
}

std::string read_key(const std::string& name, const std::string& key) {
    if (!is_plain(key)) {
        throw invalid_option(name, "printable ASCII without spaces");
    }
    return key;
}

std::string key_of_environment(const std::string& variable) {
    const char* found = std::getenv(variable.c_str());
    if (variable.empty() || found == nullptr || *found == '\0') {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            invalid("options.api_key_env", one_line(variable, 80), "the name of a variable that is set")
        );
    }
    return read_key("api_key_env", found);
}

void add_header(Options& options, const std::string& name, const std::string& value) {
    // Headers that this backend sets itself, or that would change how the message is framed.
    constexpr std::array<std::string_view, 8> kReserved = {
        "accept", "connection", "content-length", "content-type", "expect", "host", "te", "transfer-encoding"
    };
    const auto known = lower(name);
    if (!is_header_name(name) || std::ranges::find(kReserved, known) != kReserved.end()) {
        throw invalid_argument("options.headers", one_line(name, 80), "names of headers of your own");
    }
    if (!is_header_value(value)) {
        throw invalid_option("headers['" + name + "']", "text without line breaks");
    }
    options.headers.emplace_back(name, value);
}

void read_headers(Options& options, const Json& value) {
    constexpr std::size_t kMaxHeaders = 32;
    if (!value.is_object() || value.size() > kMaxHeaders) {
        throw invalid_option("headers", "an object of at most 32 strings");
    }
    for (const auto& [name, text] : value.items()) {
        add_header(options, name, read_string("headers['" + one_line(name, 80) + "']", text));
    }
}

// Reads an option that limits a time or a number. Returns false if `name` is no such option.
bool read_limit(Options& options, const std::string& name, const Json& value) {
    constexpr std::uint32_t kDay = 86'400'000;
    if (name == "connect_timeout_ms") {
        options.connect_timeout_ms = read_count(name, value, 1, kDay);
    } else if (name == "read_timeout_ms") {
        options.read_timeout_ms = read_count(name, value, 1, kDay);
    } else if (name == "timeout_ms") {
        options.timeout_ms = read_count(name, value, 0, kDay);
    } else if (name == "max_retries") {
        options.max_retries = read_count(name, value, 0, 10);
    } else if (name == "parallel") {
        options.parallel = read_count(name, value, 1, 256);
    } else {
        return false;
    }
    return true;
}

void read_option(Options& options, const std::string& name, const Json& value) {
    if (read_limit(options, name, value)) {
        return;
    }
    if (name == "base_url") {
        options.url = read_url(read_string(name, value));
    } else if (name == "api_key") {
        options.key = read_key(name, read_string(name, value));
    } else if (name == "api_key_env") {
        options.key = key_of_environment(read_string(name, value));
    } else if (name == "model") {
        options.model = read_string(name, value);
    } else if (name == "headers") {
        read_headers(options, value);
    } else if (name == "organization") {
        add_header(options, "OpenAI-Organization", read_string(name, value));
    } else if (name == "project") {
        add_header(options, "OpenAI-Project", read_string(name, value));
    } else if (name == "ca_file") {
        options.ca_file = read_string(name, value);
    } else if (name == "verify_ssl") {
        options.verify_ssl = read_flag(name, value);
    } else if (name == "check") {
        options.check = read_flag(name, value);
    } else {
        constexpr std::string_view kKnown =
            "api_key, api_key_env, base_url, ca_file, check, connect_timeout_ms, headers, max_retries, "
            "model, "
            "organization, parallel, project, read_timeout_ms, timeout_ms, verify_ssl";
        throw invalid_argument("options", one_line(name, 80), kKnown);
    }
}

void require_tls([[maybe_unused]] const Options& options) {
#ifndef SOTTO_PROXY_TLS
    if (options.url.secure) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "options.base_url: this build of the backend 'proxy' has no TLS; use an http address, or a build "
            "with SOTTO_TLS=ON"
        );
    }
#endif
}

} // namespace

std::string Url::server() const {
    const auto name = host.find(':') == std::string::npos ? host : "[" + host + "]";
    return port == (secure ? 443 : 80) ? name : name + ":" + std::to_string(port);
}

bool Url::is_loopback() const {
    return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

std::string Options::redact(std::string text) const {
    constexpr std::size_t kMinLength = 4; // a shorter value occurs by chance
    const auto hide = [&](const std::string& secret) {
        for (auto at = text.find(secret); secret.size() >= kMinLength && at != std::string::npos;
             at = text.find(secret, at)) {
            text.replace(at, secret.size(), "***");
            at += 3;
        }
    };
    hide(key);
    for (const auto& [name, value] : headers) {
        hide(value);
    }
    return text;
}

Options read_options(std::string_view text) {
    const auto values = text.empty() ? Json::object() : try_parse(text);
    if (!values.is_object()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid options: expected a JSON object");
    }
    Options options;
    for (const auto& [name, value] : values.items()) {
        if (!value.is_null()) {
            read_option(options, name, value);
        }
    }
    if (options.url.host.empty()) {
        throw missing("base_url", kUrlForm);
    }
    if (find(values, "api_key") != nullptr && find(values, "api_key_env") != nullptr) {
        throw invalid_option("api_key", "no api_key beside api_key_env");
    }
    for (const auto& [name, value] : options.headers) {
        if (!options.key.empty() && lower(name) == "authorization") {
            throw invalid_option("headers['Authorization']", "no such header beside api_key");
        }
    }
    require_tls(options);
    return options;
}

} // namespace sotto::proxy
