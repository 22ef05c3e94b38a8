"""`sotto demo`: characters speak in a tavern while a 60 FPS game runs, and frames are counted."""
