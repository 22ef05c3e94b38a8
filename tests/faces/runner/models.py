"""Lists the models."""

import sys

from mistralrs import Runner, Which
from runner_plain import where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
(name,) = runner.list_models()
result = {
    "name": name,
    "default": runner.get_default_model_id() == name,
    "status": [runner.get_model_status(name), runner.get_model_status("zz")],
    "statuses": [list(one) for one in runner.list_models_with_status()],
    "loaded": [runner.is_model_loaded(name), runner.is_model_loaded("zz")],
    "unloaded": runner.list_unloaded_models(),
    "length": runner.max_sequence_length(),
}
