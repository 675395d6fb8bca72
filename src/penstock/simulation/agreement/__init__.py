"""How well the simulator predicts live runs, from what they measured."""
