#!/usr/bin/python3
"""./dev kubernetes: a Kubernetes to try things on."""
import argparse
import os
import sys

from cluster import Cluster, Unready

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../build/kubernetes")

UP = """\
Kubernetes {version} is up, with {nodes}.

  export KUBECONFIG={kubeconfig}
  kubectl get nodes
  ./dev up --runtime kubernetes --kubeconfig "$KUBECONFIG"

Logs are in {logs}. ./dev kubernetes down ends it."""


def nodes_text(arguments):
    if arguments.node:
        return "one real node (images: slipway.test/busybox:1)"
    return f"{arguments.hollow} hollow nodes" if arguments.hollow else "no node"


def up(folder, arguments):
    if os.path.exists(os.path.join(folder, "state.json")):
        sys.exit("dev: it is up already; ./dev kubernetes down ends it")
    os.makedirs(folder, exist_ok=True)
    cluster = Cluster(folder, bound=False)
    try:
        cluster.up(node=arguments.node, hollow=arguments.hollow, proxy=arguments.proxy)
    except BaseException as problem:
        cluster.down()
        if isinstance(problem, (Unready, RuntimeError)):
            sys.exit(f"dev: {problem}")
        raise
    print(UP.format(version=".".join(map(str, cluster.version)), nodes=nodes_text(arguments),
                    kubeconfig=cluster.credentials.path("admin.kubeconfig"),
                    logs=cluster.path("log")))


def down(folder, _arguments):
    if not os.path.exists(os.path.join(folder, "state.json")):
        sys.exit("dev: no Kubernetes is up")
    Cluster.load(folder).down()


def main():
    parser = argparse.ArgumentParser(prog="./dev kubernetes")
    commands = parser.add_subparsers(required=True)
    start = commands.add_parser("up")
    start.add_argument("--node", action="store_true")
    start.add_argument("--proxy", action="store_true")
    start.add_argument("--hollow", type=int, default=0, metavar="N")
    start.set_defaults(run=up)
    commands.add_parser("down").set_defaults(run=down)
    arguments = parser.parse_args()
    arguments.run(os.path.realpath(FOLDER), arguments)


if __name__ == "__main__":
    main()
