#include "machine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sim {
namespace {

constexpr double kLookMs = 1000.0 / 60; // ms; minimum polling interval of the control thread
constexpr double kNever = std::numeric_limits<double>::infinity();

class Simulation {
public:
    Simulation(const Machine& machine, Policy* policy, unsigned seed)
        : machine_(machine), policy_(policy), chance_(seed), jobs_(machine.cores.size(), 0) {}

    Outcome run(double for_ms, double from_ms) {
        begin_frame();
        if (policy_ != nullptr) {
            begin_step();
        }
        while (now_ < for_ms) {
            advance(
                std::min(
                    {next_job_end(), in_frame_ ? kNever : next_frame_, next_step_event(), now_ + kLookMs}
                )
            );
            if (now_ >= from_ms && !counting_) {
                counting_ = true;
                done_ = 0;
                frames_ = missed_ = 0;
            }
        }
        return {done_ * 1000 / (for_ms - from_ms), frames_ == 0 ? 0 : 100.0 * missed_ / frames_};
    }

private:
    bool plays(std::size_t core) const { return jobs_[core] > 0; }
    bool computes() const { return policy_ != nullptr && resting_until_ <= now_; }

    // Cores available to models: those that the game leaves, the fastest first; cores with a busy sibling
    // only if there are no others.
    std::vector<std::size_t> models_cores() const {
        std::vector<std::size_t> free;
        for (std::size_t i = 0; computes() && i < machine_.cores_at(now_); ++i) {
            if (!plays(i)) {
                free.push_back(i);
            }
        }
        const auto taken_beside = [&](std::size_t i) {
            const auto sibling = machine_.cores[i].sibling;
            return sibling >= 0 &&
                   (plays(static_cast<std::size_t>(sibling)) || sibling < static_cast<int>(i));
        };
        std::stable_sort(free.begin(), free.end(), [&](std::size_t a, std::size_t b) {
            return std::pair(taken_beside(a), -machine_.cores[a].speed) <
                   std::pair(taken_beside(b), -machine_.cores[b].speed);
        });
        free.resize(std::min<std::size_t>(free.size(), threads_));
        return free;
    }

    double speed(std::size_t core, const std::vector<bool>& busy) const {
        const auto& one = machine_.cores[core];
        return one.speed *
               (one.sibling >= 0 && busy[static_cast<std::size_t>(one.sibling)] ? machine_.smt : 1);
    }

    void set_speeds() {
        const auto ours = models_cores();
        std::vector<bool> busy(jobs_.size());
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            busy[i] = plays(i);
        }
        for (const auto core : ours) {
            busy[core] = true;
        }
        game_speeds_.assign(jobs_.size(), 0);
        const auto slowed = 1 + machine_.game_at(now_).slowed_each * static_cast<double>(ours.size());
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            game_speeds_[i] = plays(i) ? speed(i, busy) / slowed : 0;
        }
        std::vector<double> speeds;
        for (const auto core : ours) {
            speeds.push_back(speed(core, busy));
        }
        step_rate_ = rate(speeds);
    }

    // Fraction of the step that is done per millisecond.
    double rate(const std::vector<double>& speeds) const {
        if (speeds.empty()) {
            return 0;
        }
        const auto& model = machine_.steps;
        double all = 0;
        double least = kNever;
        for (const auto one : speeds) {
            all += one;
            least = std::min(least, one);
        }
        const auto threads = static_cast<double>(threads_);
        const auto cores = static_cast<double>(speeds.size());
        const auto parallel = prompt_ ? all : std::min(all, model.memory);
        const auto apart = least * (cores < threads ? cores : threads); // limited by the slowest core
        auto took = work_ms_ * (model.together / parallel + (1 - model.together) / std::min(apart, parallel));
        if (threads_ > 1) {
            took += model.barriers * model.barrier_us * std::log2(2 * threads) / 1000;
        }
        if (cores < threads) {
            took += model.barriers * model.shared_us * (threads / cores - 1) / 1000;
        }
        return 1 / took;
    }

    double next_job_end() const {
        double first = kNever;
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            if (game_speeds_.size() == jobs_.size() && game_speeds_[i] > 0) {
                first = std::min(first, now_ + jobs_[i] / game_speeds_[i]);
            }
        }
        return first;
    }

    double next_step_event() const {
        if (policy_ == nullptr) {
            return kNever;
        }
        if (resting_until_ > now_) {
            return resting_until_;
        }
        return step_rate_ > 0 ? now_ + left_ / step_rate_ : kNever;
    }

    void advance(double to) {
        const auto passed = std::max(to - now_, 0.0);
        bool works = false;
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            if (plays(i)) {
                jobs_[i] -= passed * game_speeds_[i];
                jobs_[i] = jobs_[i] < 1e-9 ? 0 : jobs_[i];
                works = works || plays(i);
            }
        }
        const bool stepping = policy_ != nullptr && resting_until_ <= now_;
        left_ -= stepping ? passed * step_rate_ : 0;
        now_ = to;
        if (in_frame_ && !works) {
            end_frame();
        }
        if (now_ >= next_frame_ && !in_frame_) {
            begin_frame();
        }
        if (stepping && left_ <= 1e-9) {
            end_step();
        }
        set_speeds();
    }

    void begin_frame() {
        std::normal_distribution<double> normal;
        const auto& game = machine_.game_at(now_);
        const auto cores = machine_.cores_at(now_);
        const auto longer = std::max(0.3, 1 + game.varies * normal(chance_));
        const auto more = game.jobs * std::max(0.2, 1 + game.jobs_vary * normal(chance_));
        const auto jobs = std::clamp<std::size_t>(std::llround(more), 1, cores);
        std::vector<std::size_t> order; // the fastest first, the second of two siblings last
        for (std::size_t i = 0; i < cores; ++i) {
            order.push_back(i);
        }
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const auto key = [&](std::size_t i) {
                const auto sibling = machine_.cores[i].sibling;
                return std::pair(sibling >= 0 && sibling < static_cast<int>(i), -machine_.cores[i].speed);
            };
            return key(a) < key(b);
        });
        for (std::size_t i = 0; i < jobs; ++i) {
            jobs_[order[i]] = game.work_ms * longer;
        }
        frame_began_ = now_;
        due_ = next_frame_ + game.period_ms;
        in_frame_ = true;
        set_speeds();
    }

    void end_frame() {
        const auto period = machine_.game_at(now_).period_ms;
        const auto* other = machine_.disturbed(now_);
        const bool late = now_ > due_;
        ++frames_;
        missed_ += late ? 1 : 0;
        in_frame_ = false;
        if (policy_ != nullptr && (other == nullptr || other->tells)) {
            policy_->frame(frame_began_, now_, late || (other != nullptr && other->late));
        }
        next_frame_ += period;
        while (next_frame_ < now_) {
            next_frame_ += period;
        }
    }

    void begin_step() {
        std::normal_distribution<double> normal;
        std::uniform_real_distribution<double> uniform;
        const auto choice = policy_->next(now_);
        threads_ = std::clamp<std::uint32_t>(choice.threads, 1, static_cast<std::uint32_t>(jobs_.size()));
        resting_until_ = now_ + choice.rest_ms;
        prompt_ = uniform(chance_) < machine_.steps.prompts;
        const auto usual = prompt_ ? machine_.steps.prompt_ms : machine_.steps.decode_ms;
        work_ms_ = usual * std::max(0.5, 1 + machine_.steps.scatter * normal(chance_));
        left_ = 1;
        step_began_ = resting_until_;
    }

    void end_step() {
        done_ += work_ms_ / machine_.steps.decode_ms;
        policy_->stepped(threads_, prompt_, step_began_, now_ - step_began_);
        begin_step();
    }

    const Machine& machine_;
    Policy* policy_;
    std::mt19937 chance_;
    double now_ = 0;
    std::vector<double> jobs_; // remaining work of the game, per core
    std::vector<double> game_speeds_;
    bool in_frame_ = false;
    double frame_began_ = 0;
    double next_frame_ = 0;
    double due_ = 0;
    std::uint32_t threads_ = 1;
    bool prompt_ = false;
    double work_ms_ = 1;
    double left_ = 1; // remaining fraction of the step
    double step_rate_ = 0;
    double step_began_ = 0;
    double resting_until_ = 0;
    bool counting_ = false;
    double done_ = 0;
    std::uint32_t frames_ = 0;
    std::uint32_t missed_ = 0;
};

std::vector<Core> plain(std::size_t fast, std::size_t slow = 0) {
    std::vector<Core> cores(fast, Core{1, -1});
    cores.insert(cores.end(), slow, Core{0.55, -1});
    return cores;
}

// Cores with hardware threads: two on each fast core.
std::vector<Core> with_smt(std::size_t fast, std::size_t slow = 0) {
    std::vector<Core> cores;
    for (std::size_t i = 0; i < 2 * fast; ++i) {
        const auto other = i < fast ? i + fast : i - fast;
        cores.push_back({1, static_cast<int>(other)});
    }
    cores.insert(cores.end(), slow, Core{0.55, -1});
    return cores;
}

} // namespace

Outcome run(const Machine& machine, Policy* policy, double for_ms, double from_ms, unsigned seed) {
    return Simulation(machine, policy, seed).run(for_ms, from_ms);
}

std::vector<Machine> machines() {
    const StepModel narrow = {.memory = 3};
    return {
        {.name = "2 cores, one thread", .cores = plain(2), .game = {1, 8}, .steps = {}},
        {.name = "2 cores, jobs", .cores = plain(2), .game = {2, 10}, .steps = {}},
        {.name = "4 cores, jobs that vary", .cores = plain(4), .game = {4, 8, 0.15, 0.3}, .steps = narrow},
        {.name = "4 P and 4 E cores", .cores = plain(4, 4), .game = {2, 9}, .steps = {.memory = 4}},
        {.name = "4 cores of 2 threads", .cores = with_smt(4), .game = {3, 6}, .steps = {.memory = 3}},
        {.name = "12 cores, memory that both want",
         .cores = plain(12),
         .game = {4, 11, 0.04, 0, 0.045},
         .steps = {.memory = 10}},
        {.name = "4 P cores of 2 threads, 8 E cores",
         .cores = with_smt(4, 8),
         .game = {4, 6, 0.1, 0.3},
         .steps = {.memory = 5}},
        {.name = "16 cores, jobs on all",
         .cores = plain(16),
         .game = {16, 9, 0.1, 0.2},
         .steps = {.memory = 8}},
    };
}

} // namespace sim
