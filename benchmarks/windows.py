"""Windows over streams: Penstock beside Spark's own, micro-batch by micro-batch."""
import argparse, json, sys, statistics
from windows_cases import CASES
from windows_runs import Setting, run_once
p=argparse.ArgumentParser()
p.add_argument("--one"); p.add_argument("--case"); p.add_argument("--batches",type=int); p.add_argument("--rows",type=int); p.add_argument("--sink",default="parquet"); p.add_argument("--shuffle",type=int,default=2)
o=p.parse_args()
r=run_once(o.one, Setting(CASES[o.case].with_rows(o.rows), o.batches, o.sink, o.shuffle))
print(json.dumps(r.to_json()|{"median":statistics.median(r.batch_ms[len(r.batch_ms)//2:])}))
