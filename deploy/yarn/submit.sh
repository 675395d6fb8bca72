#!/usr/bin/env bash
# Submits a job to YARN with an environment of its own. Not tried: see docs/how-to/yarn.md.
# The Python must have Penstock and be of the version that the machines of the cluster can run.
#
#   deploy/yarn/submit.sh job.py hdfs:///user/ann/job
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: $0 JOB.py DIRECTORY-ON-HDFS [more arguments of the job]" >&2
  exit 2
fi
case "$2" in
  hdfs:*) ;;
  *) echo "$2 is not on HDFS, and executors on other machines would not see it" >&2; exit 2 ;;
esac
command -v spark-submit >/dev/null || { echo "there is no spark-submit on the PATH" >&2; exit 2; }

python=${PYTHON:-python3}
archive=${ENVIRONMENT:-job-env.tar.gz}
if [ ! -f "$archive" ]; then
  scratch=$(mktemp -d)
  "$python" -m venv "$scratch/env"
  # What executors need; Penstock is sent with the query, PySpark comes with Spark.
  "$scratch/env/bin/pip" install --quiet pyarrow numpy 'pandas<3' numba venv-pack
  "$scratch/env/bin/venv-pack" --prefix "$scratch/env" --output "$archive"
  rm -rf "$scratch"
fi

# The driver runs here, with Penstock; executors run the Python of the archive.
PYSPARK_DRIVER_PYTHON=$python PYSPARK_PYTHON=./env/bin/python exec spark-submit \
  --master yarn \
  --deploy-mode client \
  --archives "$archive#env" \
  --num-executors "${EXECUTORS:-2}" \
  --executor-cores 2 \
  --executor-memory 4g \
  --conf spark.dynamicAllocation.enabled=false \
  --conf spark.sql.session.timeZone=UTC \
  "$@"
