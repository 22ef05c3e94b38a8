// Modules that are not to be used, each for a reason of its own; which one, the build says.
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
#else
extern "C" SOTTO_EXPORT int sotto_module_of_another_kind() {
    return 1;
}
#endif
