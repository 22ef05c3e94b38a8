/* One public header alone, or all of them in use; headers.py compiles it as every C standard. */
#ifdef ALONE
#  include ALONE
#else
#  include <sotto/module.h>
#  include <sotto/sotto.h>

int use(void);

int use(void) {
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
    sotto_event event = SOTTO_INIT(sotto_event);
    sotto_backend backend = SOTTO_INIT(sotto_backend);
    sotto_str text = {"{}", SOTTO_NUL};

    ask.body = text;
    backend.name = text;
    return desc.struct_size == sizeof desc && ask.struct_size == sizeof ask &&
           event.struct_size == sizeof event && backend.struct_size == sizeof backend;
}
#endif

typedef int not_empty; /* a file must declare something, and a header may hold macros alone */
