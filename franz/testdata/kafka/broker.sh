#!/usr/bin/env bash
# Runs a command with a real Apache Kafka broker beside it: one node in KRaft mode on a free loopback port, its data in a
# temporary folder, and nothing left behind.
#
#   bash franz/testdata/kafka/broker.sh go test -count 1 -run Broker ./franz
#
# The command finds the broker in KAFKA_BROKERS (host:port) and the class path of Kafka's tools in KAFKA_CLASSPATH. Maven fetches
# what is needed once, about 50 MB, into KAFKA_LIBS (by default a folder in the user's cache). Without Maven or Java (17 or
# later) it says so and runs nothing, which is a failure where CI is set.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

for tool in java mvn; do
  if ! command -v "$tool" >/dev/null; then
    echo "SKIPPED: no $tool here, the tests on a real broker need Java 17 and Maven"
    [[ -z ${CI:-} ]]
    exit
  fi
done

version=$(sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' "$here/pom.xml")
libs=${KAFKA_LIBS:-${XDG_CACHE_HOME:-$HOME/.cache}/incremental-rebalance/kafka-$version}
if [[ ! -e $libs/complete ]]; then
  echo "fetching Kafka $version"
  mkdir -p "$libs"
  mvn -q -B -f "$here/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$libs"
  touch "$libs/complete"
fi
export KAFKA_CLASSPATH="$libs/*"

data=$(mktemp -d)
broker=
finish() {
  local status=$?
  if [[ -n $broker ]]; then
    kill -9 "$broker" 2>/dev/null || true
    wait "$broker" 2>/dev/null || true
  fi
  if ((status)) && [[ -e $data/log ]]; then
    echo "--- the end of the broker's log"
    tail -n 20 "$data/log"
  fi
  rm -rf "$data"
}
trap finish EXIT

# free_ports prints two ports that nobody listens on.
free_ports() {
  local port found=0
  while ((found < 2)); do
    port=$((20000 + RANDOM % 20000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      found=$((found + 1))
    fi
  done
}

start() {
  local ports
  mapfile -t ports < <(free_ports)
  export KAFKA_BROKERS=127.0.0.1:${ports[0]}
  cat >"$data/server.properties" <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${ports[1]}
listeners=PLAINTEXT://127.0.0.1:${ports[0]},CONTROLLER://127.0.0.1:${ports[1]}
advertised.listeners=PLAINTEXT://127.0.0.1:${ports[0]}
controller.listener.names=CONTROLLER
log.dirs=$data/logs
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
EOF
  cat >"$data/log4j2.yaml" <<EOF
Configuration:
  Appenders: {Console: {name: out, PatternLayout: {pattern: "%d %p %c %m%n"}}}
  Loggers: {Root: {level: WARN, AppenderRef: {ref: out}}}
EOF
  local java=(java -Xmx512m "-Dlog4j2.configurationFile=$data/log4j2.yaml" -cp "$KAFKA_CLASSPATH")
  "${java[@]}" kafka.tools.StorageTool format "--cluster-id=$(head -c 16 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=')" \
    -c "$data/server.properties" >"$data/format" 2>&1 || { cat "$data/format"; return 1; }
  "${java[@]}" kafka.Kafka "$data/server.properties" >"$data/log" 2>&1 &
  broker=$!
  for _ in {1..300}; do
    if (exec 3<>"/dev/tcp/127.0.0.1/${ports[0]}") 2>/dev/null; then
      return
    fi
    kill -0 "$broker" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}

start || start # a port may have been taken in between
echo "Kafka $version listens on $KAFKA_BROKERS"
"$@"
