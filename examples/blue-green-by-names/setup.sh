#!/bin/sh
# Creates the name web.example.internal and puts its ARN into service.yaml.
set -eu
cd "$(dirname "$0")"
exec ../name.sh
