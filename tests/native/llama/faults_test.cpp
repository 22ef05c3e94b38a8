// malloc() and mmap() failures at each of many points of open, load, chat, schema, tokenize, park, save and
// close, and failures to start threads: every call returns SOTTO_ERROR_MEMORY or succeeds, the process never
// crashes, and the same engine answers afterwards.
//
// Arguments: the folder of modules, a phase (or "all"), and optionally a kind of failure (0 to 2), the first
// point and the last. Tries some points of each phase; with SOTTO_FULL=1 in the environment, the first 2,000.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sotto/sotto.h>

#include "../support/full.hpp"
#include "faults.hpp"
#include "faults_game.hpp"

namespace {

using faults::Fails;

constexpr const char* kKinds[] = {"once", "100 in a row", "for 200 ms"};
constexpr long kMost = 2000;

void on_end(int signal) {
    (void)!write(2, "ended at ", 9);
    (void)!write(2, point, std::strlen(point));
    (void)!write(2, "\n", 1);
    ::signal(signal, SIG_DFL);
    raise(signal);
}

void expect_allowed(const char* what, const Outcome& outcome) {
    if (!allowed(outcome.status)) {
        complain(std::string(what) + ": " + std::to_string(outcome.status) + " " + outcome.text);
    }
}

struct Phase {
    const char* name;
    std::function<void(Game&)> run;
    int points; // injection points to try of each kind, unless all are tried
};

void chats(Game& game) {
    expect_allowed("chat", submit(game.engine, SOTTO_OP_CHAT, chat("")));
}

void schemas(Game& game) {
    expect_allowed("schema", submit(game.engine, SOTTO_OP_CHAT, schema_chat()));
}

void tokenizes(Game& game) {
    std::string body;
    {
        const faults::Exempt exempt;
        body =
            R"({"model": "npc", "with_pieces": true, "content": "Who goes there, and where is the gate?"})";
    }
    expect_allowed("tokenize", submit(game.engine, SOTTO_OP_TOKENIZE, body));
}

void parks(Game& game) {
    for (const char* session : {"one", "two"}) {
        expect_allowed("turn", submit(game.engine, SOTTO_OP_CHAT, chat(session)));
    }
}

void saves(Game& game) {
    std::string body;
    {
        const faults::Exempt exempt;
        body = R"({"model": "npc", "path": ")" + saved +
               R"(", "messages": [{"role": "user", "content": "Who are you?"}]})";
    }
    const auto outcome = submit(game.engine, SOTTO_OP_SAVE_STATE, body);
    expect_allowed("save", outcome);
    if (outcome.status == SOTTO_OK) {
        const faults::Exempt exempt;
        expect_allowed("restore", submit(game.engine, SOTTO_OP_RESTORE_STATE, body));
    }
}

void loads(Game& game) {
    expect_allowed("unload", unload(game.engine));
    expect_allowed("load", load(game.engine));
}

void closes(Game& game) {
    sotto_engine_destroy(game.engine);
    game.engine = nullptr;
}

// The injection points of a phase: all of the first 2,000, or some spread over them.
std::vector<long> points_of(long total, int some) {
    const long most = std::min(total, kMost);
    const long count = test::is_full() ? most : std::min<long>(most, some);
    std::vector<long> points;
    for (long i = 0; i < count; ++i) {
        points.push_back(1 + i * most / std::max(count, 1L));
    }
    return points;
}

void try_point(const Phase& phase, Game& game, long at, Fails how) {
    const bool closes = std::strcmp(phase.name, "close") == 0;
    std::snprintf(point, sizeof point, "%s, point %ld, %s", phase.name, at, kKinds[static_cast<int>(how)]);
    alarm(60); // a hang ends the test
    faults::arm(at, how);
    phase.run(game);
    faults::disarm();
    if (closes) {
        const faults::Exempt exempt;
        game.~Game();
        new (&game) Game;
    }
    game.check();
    game.begin();
    alarm(0);
}

void try_phase(const Phase& phase, int only, long from, long to) {
    Game game;
    faults::arm(1L << 40, Fails::once);
    phase.run(game);
    faults::disarm();
    const auto total = faults::count();
    if (game.engine == nullptr) {
        game.~Game();
        new (&game) Game;
    }
    long tried = 0;
    for (int how = 0; how < 3; ++how) {
        if (only >= 0 && how != only) {
            continue;
        }
        for (const long at : points_of(total, how == 2 ? phase.points / 4 : phase.points)) {
            if (at >= from && at <= to) {
                try_point(phase, game, at, static_cast<Fails>(how));
                ++tried;
            }
        }
    }
    std::printf("%s: %ld allocations, %ld points\n", phase.name, total, tried);
    std::fflush(stdout);
}

// The first engine of a process opens the modules, so each point runs in a child process, which then creates
// another engine.
void try_opening(int only, long from, long to) {
    const auto child = [](long at, Fails how) {
        std::snprintf(point, sizeof point, "open, point %ld, %s", at, kKinds[static_cast<int>(how)]);
        alarm(60);
        faults::arm(at, how);
        sotto_engine* engine = nullptr;
        const auto made = make(&engine);
        if (!allowed(made)) {
            complain("create: " + std::to_string(made));
        }
        if (engine != nullptr) {
            expect_allowed("load", load(engine));
        }
        const auto total = faults::count();
        faults::disarm();
        {
            const faults::Exempt exempt;
            if (engine == nullptr && make(&engine) != SOTTO_OK) {
                complain("afterwards: no engine");
                _exit(1);
            }
            if (const auto again = load(engine); again.status != SOTTO_OK) {
                complain("afterwards, load: " + std::to_string(again.status) + " " + again.text);
            } else if (const auto now = submit(engine, SOTTO_OP_CHAT, chat("")); now.status != SOTTO_OK) {
                complain("afterwards: " + std::to_string(now.status) + " " + now.text);
            }
        }
        sotto_engine_destroy(engine);
        std::fflush(stdout);
        return total;
    };
    const auto in_child = [&](long at, Fails how) -> long {
        int ends[2];
        if (pipe(ends) != 0) {
            std::exit(1);
        }
        const auto process = fork();
        if (process == 0) {
            failures = 0;
            const long total = child(at, how);
            (void)!write(ends[1], &total, sizeof total);
            _exit(failures == 0 ? 0 : 1);
        }
        close(ends[1]);
        long total = 0;
        (void)!read(ends[0], &total, sizeof total);
        close(ends[0]);
        int status = 0;
        waitpid(process, &status, 0);
        failures += status == 0 ? 0 : 1;
        return total;
    };
    const auto total = in_child(1L << 40, Fails::once);
    long tried = 0;
    for (int how = 0; how < 3; ++how) {
        for (const long at : points_of(total, how == 2 ? 10 : 20)) {
            if ((only < 0 || how == only) && at >= from && at <= to) {
                in_child(at, static_cast<Fails>(how));
                ++tried;
            }
        }
    }
    std::printf("open: %ld allocations, %ld points\n", total, tried);
    std::fflush(stdout);
}

// A thread that cannot be started is treated like lack of memory.
void try_threads() {
    faults::arm_threads(1L << 40);
    sotto_engine* engine = nullptr;
    if (make(&engine) != SOTTO_OK) {
        return complain("create");
    }
    const auto total = faults::threads_count();
    sotto_engine_destroy(engine);
    for (long at = 1; at <= total; ++at) {
        std::snprintf(point, sizeof point, "create, thread %ld", at);
        faults::arm_threads(at);
        engine = nullptr;
        const auto made = make(&engine);
        faults::disarm();
        const auto why = sotto_last_error();
        if (made != SOTTO_ERROR_MEMORY || engine != nullptr ||
            std::string(why.data, why.size).find("thread") == std::string::npos) {
            complain("create: " + std::to_string(made) + " " + std::string(why.data, why.size));
        }
    }
    std::printf("threads: %ld\n", total);
}

} // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        return 2;
    }
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM}) {
        ::signal(signal, on_end);
    }
    folder = arguments[1];
    saved = "faults_" + std::to_string(getpid()) + ".state";
    const std::string wanted = arguments[2];
    const int only = count > 3 ? std::atoi(arguments[3]) : -1;
    const long from = count > 4 ? std::atol(arguments[4]) : 1;
    const long to = count > 5 ? std::atol(arguments[5]) : kMost;
    const Phase phases[] = {
        {"chat", chats, 40},
        {"schema", schemas, 40},
        {"tokenize", tokenizes, 40},
        {"park", parks, 40},
        {"save", saves, 30},
        {"load", loads, 30},
        {"close", closes, 20},
    };
    const auto wants = [&](const char* name) { return wanted == "all" || wanted == name; };
    if (wants("open")) { // before this process starts a thread
        try_opening(only, from, to);
    }
    if (wants("threads")) {
        try_threads();
    }
    for (const auto& phase : phases) {
        if (wants(phase.name)) {
            try_phase(phase, only, from, to);
        }
    }
    std::remove(saved.c_str());
    std::printf("%ld failures\n", failures);
    return failures == 0 ? 0 : 1;
}
