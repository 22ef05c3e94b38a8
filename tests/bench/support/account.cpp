#include "support/account.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "support/bench.hpp"
#include "support/engine.hpp"

namespace bench {
namespace {

const std::filesystem::path kTasks = "/proc/self/task";

std::set<std::string> tasks() {
    std::set<std::string> all;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(kTasks, failed)) {
        all.insert(entry.path().filename().string());
    }
    return all;
}

double busy_ms() {
    std::ifstream file("/proc/stat");
    std::string cpu;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double wait = 0;
    double irq = 0;
    double soft = 0;
    double steal = 0;
    file >> cpu >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal;
    return (user + nice + system + irq + soft + steal) * 1000 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_ms() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto ms = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
    };
    return ms(used.ru_utime) + ms(used.ru_stime);
}

std::string state_of(const sotto_slice& slice) {
    if ((slice.flags & SOTTO_SLICE_GAVE_UP) != 0) {
        return "stood_still";
    }
    if ((slice.flags & SOTTO_SLICE_TRIAL) != 0) {
        return "trial";
    }
    return slice.kind == SOTTO_SLICE_OPEN     ? "opening"
           : slice.kind == SOTTO_SLICE_PROMPT ? "prompt"
                                              : "decode";
}

std::string object(const std::map<std::string, double>& numbers) {
    std::string all;
    for (const auto& [name, number] : numbers) {
        all += (all.empty() ? "" : ", ") + format("\"%s\": %.1f", name.c_str(), number);
    }
    return "{" + all + "}";
}

} // namespace

Account::Account() : game_(tasks()) {}

void Account::begin() {
    began_ = read();
}

void Account::end() {
    ended_ = read();
}

std::string Account::who(const std::string& task) const {
    if (game_.contains(task)) {
        return "game";
    }
    std::string name;
    std::ifstream(kTasks / task / "comm") >> name;
    const auto role = name.substr(std::min(name.find('-'), name.size() - 1) + 1);
    return role == "idle" || role == "compute" ? "models" : "control";
}

Account::Times Account::read() const {
    constexpr double kNs = 1e6;
    Times times;
    times.busy_ms = busy_ms();
    times.own_ms = own_ms();
    for (const auto& task : tasks()) {
        double used = 0;
        double delayed = 0;
        std::ifstream(kTasks / task / "schedstat") >> used >> delayed;
        const auto whose = who(task);
        times.used_ms[whose] += used / kNs;
        times.delayed_ms += whose == "models" ? delayed / kNs : 0;
    }
    return times;
}

std::string
Account::told(const std::vector<sotto_slice>& slices, std::uint64_t began, std::uint64_t ended) const {
    const auto within = [&](const sotto_slice& slice) {
        const auto begin = std::max(slice.begin_ns, began);
        const auto end = std::min(slice.end_ns, ended);
        return end > begin ? static_cast<double>(end - begin) / 1e6 : 0.0;
    };
    std::map<std::string, double> states;
    std::map<std::string, double> tokens = {{"generated", 0}, {"prompt", 0}};
    std::map<std::string, double> steps;
    double covered = 0;
    double gated = 0;
    for (const auto& slice : slices) {
        const auto ms = within(slice);
        if (slice.kind == SOTTO_SLICE_GATE) { // inside the step that comes next
            states["gate"] += ms;
            gated += ms;
        } else if (slice.kind == SOTTO_SLICE_REST) {
            states["rest"] += ms;
            covered += ms;
        } else if (slice.kind != SOTTO_SLICE_FRAME && ms > 0) {
            states[state_of(slice)] += ms - std::exchange(gated, 0);
            covered += ms;
            tokens["generated"] += slice.generated_tokens;
            tokens["prompt"] += slice.prompt_tokens;
            steps[format("%s_t%u", state_of(slice).c_str(), slice.threads)] += 1;
        }
    }
    const auto wall = static_cast<double>(ended - began) / 1e6;
    states["between"] = wall - covered; // the control thread had its turn
    const auto all = wall * std::thread::hardware_concurrency();
    std::map<std::string, double> used;
    for (const auto& [name, ms] : ended_.used_ms) {
        const auto before = began_.used_ms.find(name);
        used[name] = ms - (before == began_.used_ms.end() ? 0 : before->second);
    }
    used["others"] = std::max(0.0, ended_.busy_ms - began_.busy_ms - (ended_.own_ms - began_.own_ms));
    used["idle"] = all;
    for (const auto& [name, ms] : used) {
        used["idle"] -= name == "idle" ? 0 : ms;
    }
    const auto left = all - used["game"] - used["others"];
    return format(
        R"({"wall_ms": %.1f, "states_ms": %s, "steps": %s, "tokens": %s, "processors_ms": %s, )"
        R"("models_delayed_ms": %.1f, "computing_of_left_pct": %.1f})",
        wall,
        object(states).c_str(),
        object(steps).c_str(),
        object(tokens).c_str(),
        object(used).c_str(),
        ended_.delayed_ms - began_.delayed_ms,
        100 * used["models"] / left
    );
}

} // namespace bench
