"""A discrete-event simulation of a fleet: nodes, cells, players, routing, autoscaling and failures."""
