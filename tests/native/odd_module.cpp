// Unusable modules; the build selects the reason by a macro.
#include <string_view>

#include <sotto/module.h>

namespace {

[[maybe_unused]] sotto_str str(std::string_view text) {
    return {text.data(), text.size()};
}

} // namespace

#if defined(SOTTO_ODD_REFUSES)
extern "C" SOTTO_EXPORT
    sotto_status SOTTO_CALL sotto_module_v1(const sotto_backend_host* host, sotto_backend*, sotto_str* why) {
    host->log(host->context, SOTTO_LOG_WARN, str("this module looks around"));
    *why = str("this machine has no magic");
    return SOTTO_ERROR_UNSUPPORTED;
}
#elif defined(SOTTO_ODD_SILENT)
extern "C" SOTTO_EXPORT
    sotto_status SOTTO_CALL sotto_module_v1(const sotto_backend_host*, sotto_backend*, sotto_str*) {
    return SOTTO_ERROR_INTERNAL;
}
#elif defined(SOTTO_ODD_LACKS)
extern "C" SOTTO_EXPORT
    sotto_status SOTTO_CALL sotto_module_v1(const sotto_backend_host*, sotto_backend* backend, sotto_str*) {
    backend->name = str("lacks");
    return SOTTO_OK;
}
#elif defined(SOTTO_ODD_COUNTS) || defined(SOTTO_ODD_FULL) || defined(SOTTO_ODD_BY_NAME)
// Counts the live backends, one per engine; or reports no memory at the first entry; or is found by name
// only.
#  include <atomic>
#  include <string>

namespace {

std::atomic<int> live{0};

struct Own {
    explicit Own(const sotto_backend_host& lent) : host(lent) { say(++live); }
    ~Own() { say(--live); }

    void say(int count) const {
        const auto line = std::to_string(count) + " live";
        host.log(host.context, SOTTO_LOG_WARN, str(line));
    }

    const sotto_backend_host& host;
};

} // namespace

extern "C" SOTTO_EXPORT sotto_status SOTTO_CALL
sotto_module_v1(const sotto_backend_host* host, sotto_backend* backend, sotto_str* why) {
#  ifdef SOTTO_ODD_FULL
    static int entered = 0;
    if (++entered == 1) {
        *why = str("there is no memory just now");
        return SOTTO_ERROR_MEMORY;
    }
#  endif
    static_cast<void>(why);
#  ifdef SOTTO_ODD_BY_NAME
    backend->uses = SOTTO_BACKEND_BY_NAME;
#  endif
    backend->name = str("counts");
    backend->self = new Own(*host);
    backend->open = [](void*, const sotto_model_source*, void**, sotto_model_info*, sotto_str*) {
        return static_cast<sotto_status>(SOTTO_ERROR_MODEL);
    };
    backend->close = [](void*, void*) {};
    backend->stream_open =
        [](void*, void*, const sotto_stream_desc*, void**, sotto_stream_info*, sotto_str*) {
            return static_cast<sotto_status>(SOTTO_ERROR_MODEL);
        };
    backend->stream_close = [](void*, void*, void*) {};
    backend->step = [](void*, void*, const sotto_step*, sotto_str*) {
        return static_cast<sotto_status>(SOTTO_ERROR_MODEL);
    };
    backend->release = [](void* self) { delete static_cast<Own*>(self); };
    return SOTTO_OK;
}
#else
extern "C" SOTTO_EXPORT int sotto_module_of_another_kind() {
    return 1;
}
#endif
