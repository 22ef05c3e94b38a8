// Lock-free queue: any thread pushes without waiting, one thread pops.
#pragma once

#include <atomic>

namespace sotto {

// Base of the items of an MpscQueue. An item is in at most one queue at a time.
struct MpscNode {
    std::atomic<MpscNode*> next{nullptr};
};

// Dmitry Vyukov's intrusive queue (1024cores.net, "Intrusive MPSC node-based queue"): a push is one exchange
// and one store. A thread suspended between exchange and store delays the items pushed after its own, but
// blocks no other push.
template <typename T>
class MpscQueue {
public:
    MpscQueue() : head_(&stub_), tail_(&stub_) {}
    MpscQueue(const MpscQueue&) = delete;
    MpscQueue& operator=(const MpscQueue&) = delete;

    void push(T* item) noexcept { link(item); }

    // Returns the oldest item, or null. Also returns null while the push of the oldest item is incomplete: a
    // producer must wake the consumer after its push.
    T* pop() noexcept {
        MpscNode* tail = tail_;
        MpscNode* next = tail->next.load(std::memory_order_acquire);
        if (tail == &stub_) {
            if (next == nullptr) {
                return nullptr;
            }
            tail_ = tail = next;
            next = next->next.load(std::memory_order_acquire);
        }
        if (next == nullptr) {
            if (tail != head_.load(std::memory_order_acquire)) {
                return nullptr;
            }
            link(&stub_); // so that `tail` has a successor and can be removed
            next = tail->next.load(std::memory_order_acquire);
            if (next == nullptr) {
                return nullptr;
            }
        }
        tail_ = next;
        return static_cast<T*>(tail);
    }

    // Returns true if nothing was pushed since the last pop() that returned null. Any thread.
    bool empty() const noexcept { return head_.load(std::memory_order_acquire) == &stub_; }

private:
    void link(MpscNode* node) noexcept {
        node->next.store(nullptr, std::memory_order_relaxed);
        MpscNode* before = head_.exchange(node, std::memory_order_acq_rel);
        before->next.store(node, std::memory_order_release);
    }

    MpscNode stub_;
    std::atomic<MpscNode*> head_;
    MpscNode* tail_;
};

} // namespace sotto
