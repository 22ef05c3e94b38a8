#include "backends/proxy/exchange.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>

#include <httplib.h>

#include "backends/proxy/refusal.hpp"
#include "backends/proxy/system_certificates.hpp"
#include "backends/proxy/text.hpp"

namespace sotto::proxy {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMaxResponse = std::size_t{1} << 30;
constexpr std::size_t kMaxErrorBody = 64 << 10;

std::unique_ptr<httplib::ClientImpl> client_for(const Options& options) {
    const auto& url = options.url;
    if (!url.secure) {
        return std::make_unique<httplib::ClientImpl>(url.host, url.port);
    }
#ifdef SOTTO_PROXY_TLS
    auto client = std::make_unique<httplib::SSLClient>(url.host, url.port);
    client->enable_server_certificate_verification(options.verify_ssl);
    client->enable_server_hostname_verification(options.verify_ssl);
    const auto file = options.ca_file.empty() ? system_certificates() : options.ca_file;
    if (options.verify_ssl && !file.empty()) {
        client->set_ca_cert_path(file);
    }
    return client;
#else
    throw Error(SOTTO_ERROR_UNSUPPORTED, "this build has no TLS"); // read_options() refuses https before
#endif
}

httplib::Headers headers_of(const Options& options) {
    httplib::Headers headers = {
        {"Accept", "text/event-stream, application/json"}, {"User-Agent", "sotto/" SOTTO_VERSION}
    };
    if (!options.key.empty()) {
        headers.emplace("Authorization", "Bearer " + options.key);
    }
    for (const auto& [name, value] : options.headers) {
        headers.erase(name);
        headers.emplace(name, value);
    }
    return headers;
}

// One attempt to send a call and to receive its response.
class Attempt {
public:
    Attempt(const Options& options, const Call& call, Cancellation& cancellation, ResponseReceiver& receiver)
        : options_(options), call_(call), cancellation_(cancellation), receiver_(receiver) {}

    // Returns nothing if the response is complete, or no more of it is wanted; otherwise the error.
    std::optional<Error> run();
    // Returns true if another attempt makes sense: the receiver has received nothing, and the failure may be
    // gone later.
    bool may_repeat() const noexcept {
        return !received_ && (response_.status == 0 ? unreachable_ : proxy::may_pass(response_.status));
    }
    const std::string& retry_after() const noexcept { return response_.retry_after; }

private:
    bool hear_status(const httplib::Response& response);
    bool hear(std::string_view bytes);
    std::optional<Error> failure(httplib::Error error);
    Error transport_failure(httplib::Error error);
    std::string server() const { return "server '" + options_.url.server() + "'"; }
    bool is_success() const noexcept { return response_.status >= 200 && response_.status < 300; }

    const Options& options_;
    const Call& call_;
    Cancellation& cancellation_;
    ResponseReceiver& receiver_;
    struct {
        int status = 0; // 0: none yet
        std::string location;
        std::string retry_after;
        std::string error_body; // its beginning
    } response_;
    bool received_ = false;    // the receiver has received bytes
    bool unreachable_ = false; // no connection, or closed without an answer
    bool has_enough_ = false;  // the receiver wants no more
    std::optional<Error> thrown_;
    Clock::time_point heard_; // when bytes arrived last
};

std::optional<Error> Attempt::run() {
    const auto client = client_for(options_);
    client->set_socket_options([this](socket_t socket) {
        cancellation_.watch(static_cast<std::intptr_t>(socket));
    });
    client->set_connection_timeout(milliseconds(options_.connect_timeout_ms));
    client->set_read_timeout(milliseconds(options_.read_timeout_ms));
    client->set_write_timeout(milliseconds(options_.read_timeout_ms));
    client->set_follow_location(false);
    client->set_path_encode(false);
    client->set_tcp_nodelay(true);
    client->set_payload_max_length(kMaxResponse);
    httplib::Request request;
    request.method = call_.method;
    request.path = options_.url.path + call_.path;
    request.headers = headers_of(options_);
    if (!call_.body.empty()) {
        request.body = call_.body;
        request.headers.emplace("Content-Type", "application/json");
    }
    request.response_handler = [this](const httplib::Response& response) { return hear_status(response); };
    request.content_receiver = [this](const char* data, std::size_t size, std::size_t, std::size_t) {
        return hear({data, size});
    };
    httplib::Response response;
    auto error = httplib::Error::Success;
    heard_ = Clock::now();
    const bool done = client->send(request, response, error);
    cancellation_.forget();
    return done && is_success() && !thrown_ ? std::nullopt : failure(error);
}

bool Attempt::hear_status(const httplib::Response& response) {
    heard_ = Clock::now();
    response_.status = response.status;
    response_.location = response.get_header_value("Location");
    response_.retry_after = response.get_header_value("Retry-After");
    if (is_success()) {
        const auto type = response.get_header_value("Content-Type");
        receiver_.begin(type.rfind("text/event-stream", 0) == 0);
    }
    return !cancellation_.is_cancelled();
}

bool Attempt::hear(std::string_view bytes) {
    heard_ = Clock::now();
    if (!is_success()) {
        response_.error_body +=
            bytes.substr(0, kMaxErrorBody - std::min(response_.error_body.size(), kMaxErrorBody));
        return response_.error_body.size() < kMaxErrorBody && !cancellation_.is_cancelled();
    }
    received_ = true;
    try {
        has_enough_ = !receiver_.take(bytes);
    } catch (const Error& error) {
        thrown_ = error;
    } catch (const std::bad_alloc&) {
        thrown_.emplace(SOTTO_ERROR_MEMORY, "sent more than fits the memory");
    }
    heard_ = Clock::now(); // take() may have waited
    return !has_enough_ && !thrown_;
}

std::optional<Error> Attempt::failure(httplib::Error error) {
    if (cancellation_.is_cancelled()) {
        return Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
    }
    if (thrown_) {
        return Error(thrown_->status(), server() + " " + thrown_->what());
    }
    if (has_enough_) {
        return std::nullopt;
    }
    if (response_.status != 0 && !is_success()) {
        const auto what =
            std::string(call_.method) + " " + options_.url.path + call_.path + " to " + server();
        return refusal(response_.status, what, response_.error_body, response_.location);
    }
    return transport_failure(error);
}

Error Attempt::transport_failure(httplib::Error error) {
    const auto fail = [&](const std::string& what) {
        return Error(SOTTO_ERROR_INFERENCE, server() + " " + what);
    };
    const auto silent = std::chrono::duration_cast<milliseconds>(Clock::now() - heard_).count();
    const auto ms = [](std::uint32_t time) { return std::to_string(time) + " ms"; };
    constexpr std::int64_t kTolerance = 20; // a timer may be early
    unreachable_ = error == httplib::Error::ConnectionTimeout || error == httplib::Error::Connection;
    switch (error) {
    case httplib::Error::ConnectionTimeout:
        return fail("accepted no connection within " + ms(options_.connect_timeout_ms));
    case httplib::Error::Connection:
        return fail("cannot be reached; check options.base_url and whether the server runs");
    case httplib::Error::SSLConnection:
        return fail("could not establish TLS; check the scheme and the port of options.base_url");
    case httplib::Error::SSLLoadingCerts:
        return fail("cannot be verified: the certificates in options.ca_file could not be read");
    case httplib::Error::SSLServerVerification:
        return fail("has a certificate that is not trusted; set options.ca_file to its authority");
    case httplib::Error::SSLServerHostnameVerification:
        return fail("has a certificate for another host name");
    case httplib::Error::ExceedMaxPayloadSize:
        return fail("sent a response of more than 1 GiB");
    case httplib::Error::UnsupportedContentEncoding:
    case httplib::Error::Compression:
        return fail("sent a compressed response, which was not asked for");
    default:
        break;
    }
    if (silent + kTolerance >= options_.read_timeout_ms) {
        return fail("sent nothing for " + ms(options_.read_timeout_ms));
    }
    unreachable_ = response_.status == 0;
    return fail(response_.status == 0 ? "closed the connection without an answer" : "broke off its response");
}

} // namespace

void run(const Options& options, const Call& call, Cancellation& cancellation, ResponseReceiver& receiver) {
    for (std::uint32_t attempt = 1;; ++attempt) {
        Attempt one(options, call, cancellation, receiver);
        const auto error = one.run();
        if (!error) {
            return;
        }
        const Error shown(error->status(), options.redact(error->what()));
        if (attempt > options.max_retries || !one.may_repeat()) {
            throw shown;
        }
        const auto wait = wait_before(attempt, one.retry_after());
        if (wait < 0) {
            throw shown;
        }
        if (!cancellation.sleep_ms(wait)) {
            throw Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
        }
    }
}

} // namespace sotto::proxy
