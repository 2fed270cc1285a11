#!/bin/sh
# Runs a task that calls http://NAME:PORT/ all the time, as another service would do it, and prints each second how many
# answers came from which version. Ctrl-C ends the output; the task runs for ten minutes.
#
#     ./client.sh web.example.internal 8080
set -eu
name=$1 port=$2
ecs() {
	aws --endpoint-url "${SLIPWAY_SERVER:-http://127.0.0.1:4780}" ecs "$@" --output text
}

program='
import collections, http.client, sys, time
name, port = sys.argv[1], int(sys.argv[2])
for second in range(600):
    counts, end = collections.Counter(), time.monotonic() + 1
    while time.monotonic() < end:
        try:
            connection = http.client.HTTPConnection(name, port, timeout=5)
            connection.request("GET", "/")
            answer = connection.getresponse()
            counts[answer.read().decode().strip() if answer.status == 200 else "failed"] += 1
        except OSError:
            counts["failed"] += 1
        time.sleep(0.02)
    print("  ".join(f"{what}: {counts[what]}" for what in sorted(counts)), flush=True)
'
containers=$(NAME=$name PORT=$port PROGRAM=$program python3 -c '
import json, os
print(json.dumps([{"name": "client", "image": "host", "memory": 64, "command": [
    "python3", "-c", os.environ["PROGRAM"], os.environ["NAME"], os.environ["PORT"]]}]))')
definition=$(ecs register-task-definition --family client --network-mode awsvpc \
	--container-definitions "$containers" --query taskDefinition.taskDefinitionArn)
task=$(ecs run-task --task-definition "$definition" --query 'tasks[0].taskArn' \
	--network-configuration 'awsvpcConfiguration={subnets=[subnet-1]}')
ecs wait tasks-running --tasks "$task"
exec slipway logs --follow "$task"
