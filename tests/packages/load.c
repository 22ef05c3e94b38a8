/* Loads a model: `load ID [FILE]`. Prints "loaded", or why it is not. */
#include <stdio.h>

#include <sotto/sotto.h>

int main(int argc, char** argv) {
    sotto_engine* engine;
    sotto_event event = SOTTO_INIT(sotto_event);
    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    sotto_request loading;
    if (argc < 2 || sotto_engine_create(NULL, &engine) < 0) {
        return 2;
    }
    model.id = (sotto_str){argv[1], SOTTO_NUL};
    model.path = (sotto_str){argc > 2 ? argv[2] : "", SOTTO_NUL};
    model.flags = SOTTO_REQUEST_PRIVATE;
    if (sotto_engine_load_model(engine, &model, &loading) < 0) {
        return 2;
    }
    do {
        if (sotto_engine_wait_request_event(engine, loading, -1, &event) < 0) {
            return 2;
        }
    } while (event.kind != SOTTO_EVENT_REQUEST_DONE);
    if (event.status < 0) {
        printf("%.*s\n", (int)event.error.size, event.error.data);
    } else {
        printf("loaded\n");
    }
    sotto_engine_destroy(engine);
    return 0;
}
