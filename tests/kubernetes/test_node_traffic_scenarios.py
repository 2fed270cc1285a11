"""The scenarios of traffic of the process runtime on a real node, the same functions: clients come to load balancers
and names of slipway's, and the programs that answer run in pods. They write down themselves what happens to them."""
# pylint: disable=unused-import
import pytest
from balancing import Session, ask_new
from balancing import traffic as in_effect
from conftest import wait_until
from node_programs import NodePrograms, NodeTraffic
from on_node import Place, container
from test_services_traffic import (
    balancers,
    get,
    test_a_switch_from_one_service_to_another_loses_nothing,
    test_a_task_gets_traffic_when_it_is_healthy_and_loses_it_before_it_ends,
    test_task_sets_have_traffic_of_their_own,
    test_what_a_balancer_finds_unhealthy_is_replaced_when_its_grace_is_over,
    test_what_is_taken_out_on_purpose_stays_out,
)
from test_services_traffic import \
    test_a_rolling_update_under_load_loses_nothing as rolling_update_under_load_loses_nothing
from witness import task_ids

pytestmark = pytest.mark.node

# Answers datagrams with its version, and health checks.
UDP = """exec /usr/bin/python3 -c '
import http.server, os, socket, threading
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("", 9000))
threading.Thread(target=http.server.HTTPServer(
    ("", 8080), http.server.SimpleHTTPRequestHandler).serve_forever, daemon=True).start()
while True:
    data, client = here.recvfrom(100)
    here.sendto(os.environ["VERSION"].encode() + b" " + data, client)
'"""


@pytest.fixture(scope="module")
def place(node_cluster, module_slipway, tmp_path_factory):
    return Place(node_cluster, module_slipway, tmp_path_factory.mktemp("slipway"),
                 "--balancers", balancers())


@pytest.fixture(scope="module")
def traffic(place):
    return NodeTraffic(place.server)


@pytest.fixture
def programs(tmp_path):
    return NodePrograms(tmp_path)


@pytest.fixture(autouse=True)
def tidy(place, traffic):
    """Services of a test end with it: the node has room for some only. Before that, ECS, kubectl and the targets
    agree on the tasks."""
    yield
    names = [arn.rsplit("/", 1)[1] for arn in traffic.ecs.list_services()["serviceArns"]]
    try:
        for name in names:
            wait_until(lambda name=name: set(traffic.tasks(name)) == task_ids(place.witness.pods(name)),
                       "tasks are pods")
    finally:
        for name in names:
            place.ecs.delete_service(service=name, force=True)
    for name in names:
        wait_until(lambda name=name: not place.witness.pods(name, ending=True), "its pods are gone")


# Names have a test of their own: behind a name, a health check of the container has to report when it listens.
@pytest.mark.parametrize("way", ["network", "application", "sticky"])
def test_a_rolling_update_under_load_loses_nothing(traffic, programs, way):
    rolling_update_under_load_loses_nothing(traffic, programs, way)


def test_requests_are_divided_exactly(place, traffic, programs):
    """Two services behind one listener of an application load balancer, by weights."""
    balancer = traffic.balancer("application")
    groups = {}
    for color in ("blue", "green"):
        groups[color], front = traffic.group(balancer, "HTTP")
        traffic.create(color, traffic.register(color, programs.containers(8080, version=color)),
                       groups=[(groups[color], 8080)])
    for color in groups:
        traffic.wait_until_completed(color)
    listener, = (one["ListenerArn"] for one in traffic.elb.describe_listeners(
        LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"] if one["Port"] == front[1])
    for weights in ({"blue": 75, "green": 25}, {"blue": 0, "green": 1}):
        traffic.elb.modify_listener(ListenerArn=listener, DefaultActions=[{
            "Type": "forward", "ForwardConfig": {"TargetGroups": [
                {"TargetGroupArn": groups[color], "Weight": weight}
                for color, weight in weights.items()]}}])
        wait_until(lambda: in_effect(place.server)["settled"], "it is in effect")
        answers = [get(front)[0] for _ in range(200)]
        for color, weight in weights.items():
            assert answers.count(color) == 200 * weight // sum(weights.values())


def test_datagrams_reach_pods(place, traffic):
    group, front = traffic.group(traffic.balancer(), "UDP", port=9000)
    # Health checks ask another port than datagrams go to.
    traffic.elb.modify_target_group(TargetGroupArn=group, HealthCheckPort="8080",
                                    HealthCheckPath="/")

    def version(number):
        item = container(UDP, "web", memory=64, portMappings=[
            {"containerPort": 9000, "protocol": "udp"}, {"containerPort": 8080}],
            environment=[{"name": "VERSION", "value": str(number)}],
            mountPoints=[{"sourceVolume": "usr", "containerPath": "/usr", "readOnly": True}])
        return traffic.register("datagrams", [item])

    traffic.create("datagrams", version(1), 2, groups=[(group, 9000)])
    traffic.wait_until_completed("datagrams")
    wait_until(lambda: in_effect(place.server)["settled"], "it is in effect")
    assert set(traffic.wait_for_targets(group, 2)) == {
        (pod["status"]["podIP"], 9000) for pod in place.witness.pods("datagrams")}
    assert {ask_new(Session)(*front) for _ in range(20)} == {"1"}
    kept = Session(*front)
    assert kept.ask() == "1"
    traffic.ecs.update_service(service="datagrams", taskDefinition=version(2))
    traffic.wait_until_completed("datagrams")
    wait_until(lambda: in_effect(place.server)["settled"], "it is in effect")
    assert {ask_new(Session)(*front) for _ in range(20)} == {"2"}
    kept.close()
