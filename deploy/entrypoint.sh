#!/usr/bin/env bash
# What a container runs: Spark asks for an executor or, in cluster mode, for a driver by the word, and
# tells the rest in the environment. Anything else is a command. PySpark comes without the script that
# Spark's own image has for this.
set -euo pipefail

if [ "${1:-}" = driver ]; then
  exec tini -s -- "$SPARK_HOME/bin/spark-submit" \
    --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" --deploy-mode client "${@:2}"
fi
if [ "${1:-}" != executor ]; then
  exec tini -s -- "$@"
fi

options=()
while read -r name; do
  options+=("${!name}")
done < <(compgen -e SPARK_JAVA_OPT_ | sort -t_ -k4 -n)

exec tini -s -- "$JAVA_HOME/bin/java" ${options[@]+"${options[@]}"} \
  "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
  -cp "${SPARK_CONF_DIR:-$SPARK_HOME/conf}:${SPARK_CLASSPATH:-}:$SPARK_HOME/jars/*:$PWD" \
  org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
  --driver-url "$SPARK_DRIVER_URL" \
  --executor-id "$SPARK_EXECUTOR_ID" \
  --cores "$SPARK_EXECUTOR_CORES" \
  --app-id "$SPARK_APPLICATION_ID" \
  --hostname "$SPARK_EXECUTOR_POD_IP" \
  --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
  --podName "$SPARK_EXECUTOR_POD_NAME"
