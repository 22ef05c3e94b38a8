// The scripted backend with hooks: a test can observe, delay and change each call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "support/game.hpp"

namespace test {

// A gate that threads pass and a test can close.
class Gate {
public:
    void shut() {
        const std::lock_guard lock(mutex_);
        shut_ = true;
    }

    void open() {
        const std::lock_guard lock(mutex_);
        shut_ = false;
        changed_.notify_all();
    }

    // Waits while the gate is closed, with a timeout so that a failing test ends.
    void pass() {
        std::unique_lock lock(mutex_);
        ++reached_;
        ++inside_;
        changed_.notify_all();
        changed_.wait_for(lock, std::chrono::milliseconds(2 * kPatience), [&] { return !shut_; });
        --inside_;
    }

    // Returns true if a thread waits at the gate, now or soon.
    bool holds() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::milliseconds(kPatience), [&] { return inside_ > 0; });
    }

    // Returns true if the gate was reached `times` times, now or soon.
    bool reached(int times = 1) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::milliseconds(kPatience), [&] {
            return reached_ >= times;
        });
    }

private:
    std::mutex mutex_; // guards the members below
    std::condition_variable changed_;
    bool shut_ = false;
    int reached_ = 0;
    int inside_ = 0;
};

// A call of the backend.
enum class Point : std::uint8_t {
    load,
    measure,
    unload,
    open,
    close,
    step,
    stepped,
    park,
    unpark,
    prepare,
    prepared_close
};

class TappedBackend {
public:
    // Arguments of a step.
    struct Step {
        std::vector<std::uint32_t> tokens; // of each item
        std::uint32_t threads;
        sotto_thread_class thread_class;
        sotto_step_flags flags;
    };

    // Flags of each opened stream.
    std::vector<sotto_stream_flags> opened() const {
        const std::lock_guard lock(mutex_);
        return opened_;
    }

    // Device of each opened model.
    std::vector<std::string> devices() const {
        const std::lock_guard lock(mutex_);
        return devices_;
    }

    // Body of each opened stream.
    std::vector<std::string> bodies() const {
        const std::lock_guard lock(mutex_);
        return bodies_;
    }

    TappedBackend() : inner_(scripted()) {}
    TappedBackend(const TappedBackend&) = delete;
    TappedBackend& operator=(const TappedBackend&) = delete;

    // Called at every point, on the calling thread. Set it before an engine exists.
    std::function<void(Point, const sotto_step*)> tap = [](Point, const sotto_step*) {};

    sotto_backend table() {
        auto table = inner_;
        table.self = this;
        table.open = open_model;
        table.measure = measure;
        table.close = close_model;
        table.stream_open = open_stream;
        table.stream_close = close_stream;
        table.step = step;
        table.stream_park = park_stream;
        table.stream_unpark = unpark_stream;
        table.prepare = prepare;
        table.prepared_close = prepared_close;
        return table;
    }

    int count(Point point) const {
        const std::lock_guard lock(mutex_);
        return counts_[static_cast<std::size_t>(point)];
    }

    std::vector<Step> steps() const {
        const std::lock_guard lock(mutex_);
        return steps_;
    }

private:
    static TappedBackend& of(void* self) { return *static_cast<TappedBackend*>(self); }

    void at(Point point, const sotto_step* step = nullptr) {
        {
            const std::lock_guard lock(mutex_);
            ++counts_[static_cast<std::size_t>(point)];
        }
        tap(point, step);
    }

    static sotto_status SOTTO_CALL open_model(
        void* self, const sotto_model_source* source, void** model, sotto_model_info* info, sotto_str* why
    ) {
        {
            const std::lock_guard lock(of(self).mutex_);
            of(self).devices_.push_back(source->device.data != nullptr ? source->device.data : "");
        }
        of(self).at(Point::load);
        return of(self).inner_.open(nullptr, source, model, info, why);
    }
    static sotto_status SOTTO_CALL
    measure(void* self, const sotto_model_source* source, sotto_model_info* info, sotto_str* why) {
        of(self).at(Point::measure);
        return of(self).inner_.measure(nullptr, source, info, why);
    }
    static void SOTTO_CALL close_model(void* self, void* model) {
        of(self).at(Point::unload);
        of(self).inner_.close(nullptr, model);
    }
    static sotto_status SOTTO_CALL open_stream(
        void* self,
        void* model,
        const sotto_stream_desc* desc,
        void** stream,
        sotto_stream_info* info,
        sotto_str* why
    ) {
        {
            const std::lock_guard lock(of(self).mutex_);
            of(self).opened_.push_back(desc->flags);
            of(self).bodies_.push_back(text_of(desc->body));
        }
        of(self).at(Point::open);
        return of(self).inner_.stream_open(nullptr, model, desc, stream, info, why);
    }
    static sotto_status SOTTO_CALL prepare(
        void* self,
        void* model,
        const sotto_stream_desc* desc,
        sotto_gate_fn cancelled,
        void* context,
        void** prepared,
        sotto_stream_info* info,
        sotto_str* why
    ) {
        of(self).at(Point::prepare);
        return of(self).inner_.prepare(nullptr, model, desc, cancelled, context, prepared, info, why);
    }
    static void SOTTO_CALL prepared_close(void* self, void* model, void* prepared) {
        of(self).at(Point::prepared_close);
        of(self).inner_.prepared_close(nullptr, model, prepared);
    }
    static void SOTTO_CALL close_stream(void* self, void* model, void* stream) {
        of(self).at(Point::close);
        of(self).inner_.stream_close(nullptr, model, stream);
    }
    static void SOTTO_CALL park_stream(void* self, void* model, void* stream) {
        of(self).at(Point::park);
        of(self).inner_.stream_park(nullptr, model, stream);
    }
    static sotto_status SOTTO_CALL
    unpark_stream(void* self, void* model, void* stream, std::uint32_t* remaining, sotto_str* why) {
        of(self).at(Point::unpark);
        return of(self).inner_.stream_unpark(nullptr, model, stream, remaining, why);
    }
    static sotto_status SOTTO_CALL step(void* self, void* model, const sotto_step* step, sotto_str* why) {
        Step seen{{}, step->threads, step->thread_class, step->flags};
        for (std::uint32_t i = 0; i < step->count; ++i) {
            seen.tokens.push_back(step->items[i]->tokens);
        }
        {
            const std::lock_guard lock(of(self).mutex_);
            of(self).steps_.push_back(std::move(seen));
        }
        of(self).at(Point::step, step);
        const auto status = of(self).inner_.step(nullptr, model, step, why);
        of(self).at(Point::stepped, step);
        return status;
    }

    const sotto_backend inner_;
    mutable std::mutex mutex_; // guards the members below
    int counts_[11] = {};
    std::vector<Step> steps_;
    std::vector<sotto_stream_flags> opened_;
    std::vector<std::string> bodies_;
    std::vector<std::string> devices_;
};

// A backend that blocks in a step of a given number of streams, so that all of them are decoding meanwhile.
class Paused {
public:
    Paused() {
        backend.tap = [this](Point point, const sotto_step* step) {
            std::unique_lock lock(mutex_);
            if (point != Point::step || step->count != streams_) {
                return;
            }
            streams_ = 0;
            stands_ = true;
            changed_.notify_all();
            changed_.wait_for(lock, std::chrono::milliseconds(2 * kPatience), [&] { return !stands_; });
        };
    }

    // Blocks the next step with `streams` streams and releases a blocked one. 0: blocks none.
    void pause_at(std::uint32_t streams) {
        const std::lock_guard lock(mutex_);
        streams_ = streams;
        stands_ = false;
        changed_.notify_all();
    }
    void go_on() { pause_at(0); }

    // Returns true if a step is blocked, now or soon.
    bool holds() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::milliseconds(kPatience), [&] { return stands_; });
    }

    TappedBackend backend;

private:
    std::mutex mutex_; // guards the members below
    std::condition_variable changed_;
    std::uint32_t streams_ = 0;
    bool stands_ = false;
};

// A backend that blocks at a point while its gate is closed.
struct Held {
    explicit Held(Point at = Point::step) {
        backend.tap = [this, at](Point point, const sotto_step*) {
            if (point == at) {
                gate.pass();
            }
        };
    }

    Gate gate;
    TappedBackend backend;
};

} // namespace test
