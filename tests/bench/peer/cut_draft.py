"""Makes a draft model of a model's first layers, with its vocabulary.

cut_draft.py MODEL DRAFT LAYERS

Its tensors are copied as they are: `gguf` must be importable, and the model one whose layers are named blk.N.
"""

from __future__ import annotations

import sys

from gguf import GGUFReader, GGUFValueType, GGUFWriter

OWN = ("general.architecture", "GGUF.version", "GGUF.tensor_count", "GGUF.kv_count")  # the writer's


def main() -> int:
    """Writes the draft."""
    source, target, layers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    model = GGUFReader(source)
    architecture = model.fields["general.architecture"].contents()
    writer = GGUFWriter(target, architecture)
    for name, field in model.fields.items():
        if name == f"{architecture}.block_count":
            writer.add_block_count(layers)
        elif name not in OWN:
            inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], inner)
    for tensor in model.tensors:
        if not tensor.name.startswith("blk.") or int(tensor.name.split(".")[1]) < layers:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
