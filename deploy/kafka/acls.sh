#!/usr/bin/env bash
# The least rights on Kafka that each part needs, given with Kafka's own kafka-acls.sh:
#
#   BOOTSTRAP=kafka-1:9092 deploy/kafka/acls.sh --command-config admin.properties
#
# Without BOOTSTRAP it prints the commands. Arguments go to kafka-acls.sh. PREFIX, GROUP and GENERATION are the workers'
# topics.prefix, kafka.group and topics.generation; WORKER, CRAWLER, READER and OPERATOR are principals, READERS the
# readers' group. A new generation needs its rights before its topics are used: run this with GENERATION=b beforehand;
# the rights in the old one stay. Those on the topic deduplicated are not needed with output.mode=verdicts. The commands
# forget, index, repair, switch and leave need the workers' rights, in both generations where there are two (repair reads
# in verdicts and dead-letters how far the workers came, where the broker has forgotten it); pardon needs them, and Write on
# pages; topics delete needs Delete on what it deletes.
set -euo pipefail
PREFIX=${PREFIX-dedup.}
GROUP=${GROUP-dedup}
SUFFIX=${GENERATION:+.$GENERATION}
WORKER=${WORKER-User:dedup-worker}
CRAWLER=${CRAWLER-User:dedup-crawler}
READER=${READER-User:dedup-reader}
OPERATOR=${OPERATOR-User:dedup-operator}
READERS=${READERS-dedup-readers}

# who  kind  pattern  name  operations
rights() {
    cat <<RIGHTS
$WORKER topic literal ${PREFIX}pages Read Describe DescribeConfigs
$WORKER topic literal ${PREFIX}fingerprints$SUFFIX Read Write Describe DescribeConfigs
$WORKER topic literal ${PREFIX}answers$SUFFIX Read Write Describe DescribeConfigs
$WORKER topic literal ${PREFIX}index$SUFFIX Read Write Describe DescribeConfigs
$WORKER topic literal ${PREFIX}index-standby$SUFFIX Read Describe DescribeConfigs
$WORKER topic literal ${PREFIX}deduplicated$SUFFIX Write Describe DescribeConfigs
$WORKER topic literal ${PREFIX}verdicts$SUFFIX Read Write Describe DescribeConfigs
$WORKER topic literal ${PREFIX}dead-letters$SUFFIX Read Write Describe DescribeConfigs
$WORKER topic literal ${PREFIX}findings$SUFFIX Write Describe DescribeConfigs
$WORKER topic literal ${PREFIX}jobs Write Describe DescribeConfigs
$WORKER group literal ${GROUP}-pages$SUFFIX Read Describe
$WORKER group literal ${GROUP}-shards$SUFFIX Read Describe
$WORKER transactional-id prefixed ${GROUP}- Write Describe
$CRAWLER topic literal ${PREFIX}pages Write Describe DescribeConfigs
$CRAWLER topic literal ${PREFIX}jobs Write Describe DescribeConfigs
$READER topic literal ${PREFIX}deduplicated$SUFFIX Read Describe
$READER topic literal ${PREFIX}verdicts$SUFFIX Read Describe
$READER topic literal ${PREFIX}dead-letters$SUFFIX Read Describe
$READER topic literal ${PREFIX}findings$SUFFIX Read Describe
$READER topic literal ${PREFIX}jobs Read Describe
$READER group literal $READERS Read Describe
$OPERATOR topic prefixed ${PREFIX} Create Describe DescribeConfigs Alter AlterConfigs
RIGHTS
}

while read -r who kind pattern name operations; do
    command=(kafka-acls.sh --bootstrap-server "${BOOTSTRAP-localhost:9092}" --add --allow-principal "$who"
        "--$kind" "$name" --resource-pattern-type "$pattern")
    for operation in $operations; do
        command+=(--operation "$operation")
    done
    if [ -n "${BOOTSTRAP-}" ]; then
        "${command[@]}" "$@" </dev/null
    else
        echo "${command[@]}" "$@"
    fi
done < <(rights)
