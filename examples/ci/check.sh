#!/bin/sh
# Answers: may these settings go into production? It plays two outages and a false alarm with settings.yaml, or the file given as
# its argument, and fails if one does not end as expected. evictsim must be in the PATH:
#
#   go build -C examples -o /usr/local/bin ./evictsim
#
# Copy it and its scenarios to your settings. To play your own cluster, write "cluster: {files: [dump.yaml]}" in the scenarios in
# place of the zones.
# examples/scenariofile/SCENARIO.md defines scenarios, settings and the figures that an expectation may name.
set -eu
settings=$(grep -v '^ *\(#.*\)*$' "${1:-$(dirname "$0")/settings.yaml}" || [ $? = 1 ])
[ -n "$settings" ] || settings='{}' # an empty file means the defaults
cd "$(dirname "$0")"
result=0
for scenario in outage.yaml half-lost.yaml false-alarm.yaml; do
  echo "$scenario"
  evictsim --scenario "$scenario" --set "config=$settings" --quiet || result=$(($? > result ? $? : result))
done
exit $result # 2 if an expectation was not met, 64 if a file is wrong
