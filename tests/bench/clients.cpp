// Clients of a llama-server, closed loop: one JSON object on stdout once stdin ends.
//
//     sotto_bench_clients port= words= streams= prompt= tokens=
//
// Each asks for the next answer as soon as one is over, every prompt another one. Tells when tokens arrived:
// {"answers": 7, "at_ns": [...], "tokens": [...]}. It reads as little of what it is sent as it can, so that
// it takes next to nothing of the processors.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/bench.hpp"

using namespace bench;

namespace {

constexpr const char* kUsage = "sotto_bench_clients port=8080 words=... streams=4 prompt=512 tokens=128";

int connected(std::uint16_t port) {
    const int opened = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (opened < 0 || connect(opened, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        die(std::string("connecting to the server: ") + std::strerror(errno));
    }
    return opened;
}

void send_all(int to, const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
        const auto some = send(to, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (some < 0) {
            die(std::string("asking the server: ") + std::strerror(errno));
        }
        sent += static_cast<std::size_t>(some);
    }
}

class Clients {
public:
    explicit Clients(const Arguments& arguments)
        : words_(arguments.text("words")), port_(static_cast<std::uint16_t>(arguments.count("port"))),
          prompt_(arguments.count("prompt")), tokens_(arguments.count("tokens")),
          streams_(arguments.count("streams")) {}

    // Until stdin ends.
    void run() {
        std::vector<pollfd> wait(1, {STDIN_FILENO, POLLIN, 0});
        for (std::uint32_t i = 0; i < streams_.size(); ++i) {
            ask(i);
            wait.push_back({streams_[i].socket, POLLIN, 0});
        }
        for (;;) {
            if (poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) {
                die(std::strerror(errno));
            }
            if (wait.front().revents != 0) {
                return;
            }
            for (std::uint32_t i = 0; i < streams_.size(); ++i) {
                if (wait[i + 1].revents != 0) {
                    hear(i);
                    wait[i + 1].fd = streams_[i].socket;
                }
            }
        }
    }

    void tell() const {
        std::printf(
            "{\"answers\": %u, \"at_ns\": %s, \"tokens\": %s}\n",
            answers_,
            array(at_ns_).c_str(),
            array(arrived_).c_str()
        );
    }

private:
    struct Stream {
        int socket = -1;
        std::uint32_t asked = 0;
        std::uint32_t wanted = 0; // tokens of the answer under way
        std::uint32_t tokens = 0; // that arrived
        std::string line;         // that is not whole yet
        std::string all;          // kept up to the first token, for who wants to know why there is none
    };

    void ask(std::uint32_t index) {
        auto& stream = streams_[index];
        // One word less than tokens are wanted: most models put one before a prompt.
        const auto answer = stream.asked++;
        const auto prompt = words_.sentence(prompt_ - 1, kind_of(index, answer));
        stream.wanted = length_of(index, static_cast<std::uint32_t>(streams_.size()), answer, tokens_);
        const auto body =
            format(
                R"({"stream": true, "temperature": 0, "ignore_eos": true, "cache_prompt": false, )"
                R"("n_predict": %u, "prompt": ")",
                stream.wanted
            ) +
            prompt + R"("})";
        stream.socket = connected(port_);
        stream.tokens = 0;
        send_all(
            stream.socket,
            format(
                "POST /completion HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                body.size()
            ) + body
        );
    }

    void hear(std::uint32_t index) {
        auto& stream = streams_[index];
        char some[16'384];
        const auto count = recv(stream.socket, some, sizeof some, 0);
        if (count > 0) {
            read(stream, std::string(some, static_cast<std::size_t>(count)));
            return;
        }
        if (stream.tokens < stream.wanted) {
            die(format("an answer ended after %u of %u tokens: ", stream.tokens, stream.wanted) + stream.all);
        }
        close(stream.socket);
        stream.line.clear();
        stream.all.clear();
        ++answers_;
        ask(index);
    }

    // Each event's line tells how many tokens there were so far.
    void read(Stream& stream, const std::string& text) {
        stream.line += text;
        if (stream.tokens == 0) {
            stream.all += text;
        }
        const auto end = stream.line.rfind('\n');
        if (end == std::string::npos) {
            return;
        }
        constexpr const char* kTokens = "\"tokens_predicted\":";
        const auto at = stream.line.rfind(kTokens, end);
        if (at != std::string::npos) {
            const auto told = std::strtoul(stream.line.c_str() + at + std::strlen(kTokens), nullptr, 10);
            if (told > stream.tokens) {
                at_ns_.push_back(nanoseconds(Clock::now()));
                arrived_.push_back(told - stream.tokens);
                stream.tokens = static_cast<std::uint32_t>(told);
            }
        }
        stream.line.erase(0, end + 1);
    }

    Words words_;
    std::uint16_t port_;
    std::uint32_t prompt_;
    std::uint32_t tokens_;
    std::vector<Stream> streams_;
    std::uint32_t answers_ = 0;
    std::vector<std::uint64_t> at_ns_;
    std::vector<std::uint64_t> arrived_;
};

} // namespace

int main(int count, char** given) {
    Clients clients(Arguments(count, given, kUsage));
    clients.run();
    clients.tell();
}
