"""Files of dialogue for `sotto translate`: reading, translating with protected pieces, writing."""
