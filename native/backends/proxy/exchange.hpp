// One request to a server, with retries, and its response as it arrives.
#pragma once

#include <string>
#include <string_view>

#include "backends/proxy/cancellation.hpp"
#include "backends/proxy/options.hpp"

namespace sotto::proxy {

// Receives a response of status 200. Called on the thread of Exchange::run().
class ResponseReceiver {
public:
    // Called before the first bytes. `events`: the server sends server-sent events.
    virtual void begin(bool events) = 0;
    // Receives bytes of the response; may wait. Returns false: ends the exchange, since nothing more is
    // wanted. Throws Error, whose text continues a sentence with the server as its subject.
    virtual bool take(std::string_view bytes) = 0;

protected:
    ResponseReceiver() = default;
    ResponseReceiver(const ResponseReceiver&) = default;
    ResponseReceiver& operator=(const ResponseReceiver&) = default;
    ~ResponseReceiver() = default;
};

struct Call {
    const char* method = "POST";
    std::string path; // after the path of Options::url
    std::string body; // JSON; empty: none
};

// Sends `call` and passes the response to `receiver`. Repeats it up to Options::max_retries times, while
// `receiver` has received nothing, if the server cannot be reached, or refuses for the moment. Follows no
// redirect. Throws Error, whose text names the server and contains no secret; SOTTO_ERROR_CANCELLED after
// Cancellation::cancel().
void run(const Options& options, const Call& call, Cancellation& cancellation, ResponseReceiver& receiver);

} // namespace sotto::proxy
