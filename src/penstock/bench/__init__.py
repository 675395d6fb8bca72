"""A small benchmark that anyone can run: Penstock's windows beside Spark's own."""

from penstock.bench.beside_spark import CASES, Beside, Case, Load, run_case

__all__ = ["CASES", "Beside", "Case", "Load", "run_case"]
