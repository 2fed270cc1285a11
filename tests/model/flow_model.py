#!/usr/bin/python3
"""A model of the engine of flows, which replays what the engine did and compares every state.

    flow_model.py < TRACE

It decides by going over all nodes until nothing changes, and shares no code with src/flow. The trace has
one line each for a new flow ("flow POLICY SYNC QUEUE APPROVAL"), its nodes ("node DISABLED APPROVAL SOAK
DEPENDENCY…"), an event ("event NAME NOW NODE RUN PLAN UNCHANGED LIVE"), and the states of flow and
nodes after it ("is FLOW CLOSING REFUSED | STATE PHASE REASON CAUSE RUN STOP DEADLINE DEPLOYED | …").
Prints the number of events and exits with 1 at the first difference.
"""
import sys

DONE = ("SUCCESS", "SKIPPED")
ENDED = DONE + ("FAILURE", "CANCELLED", "DISABLED", "BLOCKED")
FLOW_ENDED = ("SUCCESS", "FAILURE", "CANCELLED")


class Node:
    def __init__(self, number, disabled, approval, soak, needs):
        self.number, self.disabled, self.approval, self.soak, self.needs = number, disabled, approval, soak, needs
        self.state, self.phase, self.reason, self.cause = "PENDING", "NONE", "NONE", -1
        self.run, self.stop, self.stop_reason, self.deadline = 0, 0, "NONE", 0
        self.plan, self.approved, self.deployed, self.left = "0" * 32, False, False, 0

    def become(self, state, phase="NONE", deadline=0):
        self.state, self.phase, self.deadline = state, phase, deadline

    def text(self):
        return (f"{self.state} {self.phase} {self.reason} {self.cause} {self.run} {self.stop} {self.deadline} "
                f"{int(self.deployed)}")


class Flow:
    def __init__(self, policy, sync, queue, approval):
        self.policy, self.sync, self.queue, self.approval = policy, sync, queue, approval
        self.nodes, self.state, self.closing, self.cause, self.started = [], "PENDING", "NONE", -1, False

    def ancestors(self, node):
        found, todo = set(), list(node.needs)
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                todo += self.nodes[number].needs
        return found

    # The consequences for the others.

    def block(self, cause):
        changed = True
        while changed:
            changed = False
            for node in self.nodes:
                if node.state == "PENDING" and any(
                        need is cause or (need.state == "BLOCKED" and need.cause == cause.number)
                        for need in (self.nodes[number] for number in node.needs)):
                    node.become("BLOCKED")
                    node.reason, node.cause, changed = "BLOCKED", cause.number, True

    def begin(self):
        for node in self.nodes:
            if node.disabled:
                node.become("DISABLED")
                node.reason = "DISABLED"
        for node in self.nodes:
            if node.disabled:
                self.block(node)

    def queue_ready(self):
        if not self.started or self.closing != "NONE":
            return
        for node in self.nodes:
            if node.state == "PENDING" and all(self.nodes[need].state in DONE for need in node.needs):
                node.become("QUEUED", "PLANNING")

    def finish(self, node, state, reason, cause=-1, alone=False):
        node.become(state)
        node.reason, node.cause, node.stop, node.stop_reason = reason, cause, 0, "NONE"
        if state in DONE or alone:
            return
        self.block(node)
        if state == "FAILURE" and self.closing == "NONE" and self.policy != "continue":
            self.close("OTHER_FAILED", node.number, 1 if self.policy == "cancelPending" else 2)

    def close(self, reason, cause, how):
        self.closing, self.cause = reason, cause
        for node in self.nodes:
            if node.state in ("PENDING", "WAITING_APPROVAL") or node.phase == "PLANNING":
                self.finish(node, "CANCELLED", reason, cause, alone=True)
            elif node.phase in ("SYNCING", "SOAKING"):
                if how == 2 or reason == "SUPERSEDED":
                    self.finish(node, "CANCELLED", reason, cause, alone=True)
            elif node.phase == "STARTING" or (node.phase == "DEPLOYING" and node.state == "RUNNING" and how == 2):
                node.stop, node.stop_reason, node.cause = max(node.stop, how), reason, cause

    def end_stopped(self, node):
        if node.stop_reason == "UNAVAILABLE":
            self.finish(node, "FAILURE", "UNAVAILABLE")
        elif node.stop:
            self.finish(node, "CANCELLED", node.stop_reason, node.cause, alone=True)
        else:
            self.finish(node, "CANCELLED", "DEPLOYMENT_CANCELLED")

    # The rollback: a node is next when nothing that needs it, at any distance, is still to be rolled back.

    def roll_back(self):
        kept = set()
        for node in self.nodes:
            if node.reason == "ROLLBACK_FAILED":
                kept |= self.ancestors(node)
        wanted = [node for node in self.nodes
                  if node.state == "ROLLING_BACK"
                  or (node.deployed and node.number not in kept and node.reason != "ROLLBACK_FAILED")]
        for node in wanted:
            if node.state != "ROLLING_BACK" and not any(
                    node.number in self.ancestors(other) for other in wanted):
                node.become("ROLLING_BACK", "UNDOING")
        return bool(wanted)

    def settle(self):
        self.queue_ready()
        if self.state in FLOW_ENDED or (not self.started and self.closing == "NONE"):
            return
        if any(node.state not in ENDED for node in self.nodes) and self.state != "ROLLING_BACK":
            return
        if self.closing == "OTHER_FAILED" and self.policy == "rollback":
            self.state = "ROLLING_BACK"
            if self.roll_back():
                return
        states = {node.state for node in self.nodes}
        if not self.started or self.closing == "FLOW_CANCELLED":
            self.state = "CANCELLED"
        elif states & {"FAILURE", "DISABLED"}:
            self.state = "FAILURE"
        else:
            self.state = "CANCELLED" if "CANCELLED" in states else "SUCCESS"

    # Events; one that is refused returns True.

    def apply(self, name, now, node, run, plan, unchanged, live):
        node = self.nodes[node] if node >= 0 else None
        refused = getattr(self, name.lower())(now, node, run, plan, unchanged, live)
        if not refused:
            self.settle()
        return bool(refused)

    def head_reached(self, *_):
        if self.state == "PENDING":
            self.state = "RUNNING"

    def head_succeeded(self, *_):
        if self.state not in FLOW_ENDED:
            self.state, self.started = "RUNNING", True

    def head_ended(self, *_):
        if self.state not in FLOW_ENDED and not self.started:
            self.close("HEAD_ENDED", -1, 2)

    def planned(self, now, node, run, plan, unchanged, live):
        asked = node.state == "WAITING_APPROVAL"
        if node.phase != "PLANNING" and not (asked and (plan != node.plan or unchanged)):
            return
        if plan != node.plan:
            node.plan, node.approved = plan, False
        if unchanged:
            self.finish(node, "SKIPPED", "UNCHANGED")
        elif node.approval and not node.approved:
            node.become("WAITING_APPROVAL", deadline=now + self.approval)
        else:
            node.run += 1
            node.become("QUEUED", "STARTING")

    def plan_failed(self, now, node, *_):
        if node.phase == "PLANNING":
            self.finish(node, "FAILURE", "PLAN_FAILED")

    def plan_disabled(self, now, node, *_):
        if node.phase == "PLANNING":
            self.finish(node, "DISABLED", "DISABLED")

    def unavailable(self, now, node, *_):
        if node.state == "QUEUED" and not node.stop and not node.deadline:
            node.deadline = now + self.queue

    def available(self, now, node, *_):
        if node.state == "QUEUED":
            node.deadline = 0

    @staticmethod
    def awaited(node, run):
        return run == node.run and node.phase in ("STARTING", "DEPLOYING")

    def deployment_stale(self, now, node, run, *_):
        if self.awaited(node, run):
            if node.stop:
                self.end_stopped(node)
            elif node.phase == "STARTING":
                node.become("QUEUED", "PLANNING")

    def deployment_running(self, now, node, run, *_):
        if self.awaited(node, run) and node.phase == "STARTING":
            node.become("RUNNING", "DEPLOYING")
            if node.stop == 1:
                node.stop, node.stop_reason, node.cause = 0, "NONE", -1

    def deployment_rolling_back(self, now, node, run, *_):
        self.deployment_running(now, node, run)
        if self.awaited(node, run):
            node.become("ROLLING_BACK", "DEPLOYING")

    def deployment_succeeded(self, now, node, run, plan, unchanged, live):
        self.deployment_running(now, node, run)
        if not self.awaited(node, run) or node.state == "ROLLING_BACK":
            return
        node.deployed = True
        if node.stop == 2:
            self.end_stopped(node)
        elif live:
            node.left = self.sync
            node.become("RUNNING", "SYNCING", now + self.sync)
        else:
            self.finish(node, "SUCCESS", "NO_LIVE_STATE")

    def deployment_failed(self, now, node, run, *_):
        self.deployment_running(now, node, run)
        if self.awaited(node, run):
            self.finish(node, "FAILURE", "DEPLOYMENT_FAILED")

    def deployment_cancelled(self, now, node, run, *_):
        if self.awaited(node, run):
            self.end_stopped(node)

    def in_sync(self, now, node, *_):
        if node.phase == "SYNCING":
            if node.soak == 0:
                self.finish(node, "SUCCESS", "NONE")
            else:
                node.left = node.deadline - now
                node.become("RUNNING", "SOAKING", now + node.soak)

    def out_of_sync(self, now, node, *_):
        if node.phase == "SOAKING":
            node.left -= 1000
            if node.left > 0:
                node.become("RUNNING", "SYNCING", now + node.left)
            else:
                self.finish(node, "FAILURE", "NOT_IN_SYNC")

    def sync_unknown(self, now, node, *_):
        if node.phase == "SOAKING" and node.deadline <= now:
            node.left -= 1000
            if node.left > 0:
                node.deadline = now + 1000
            else:
                self.finish(node, "FAILURE", "NOT_IN_SYNC")

    def undone(self, now, node, *_):
        if node.phase == "UNDOING":
            node.deployed = False
            if node.reason == "NOT_IN_SYNC":
                node.become("FAILURE")
            else:
                node.become("CANCELLED")
                node.reason, node.cause = "ROLLED_BACK", self.cause

    def undo_failed(self, now, node, *_):
        if node.phase == "UNDOING":
            node.become("FAILURE")
            node.reason = "ROLLBACK_FAILED"

    def approve(self, now, node, run, plan, *_):
        if node.state != "WAITING_APPROVAL" or plan != node.plan:
            return True
        node.approved = True
        node.become("QUEUED", "PLANNING")

    def reject(self, now, node, *_):
        if node.state != "WAITING_APPROVAL":
            return True
        self.finish(node, "CANCELLED", "REJECTED")

    def cancel(self, *_):
        if self.state not in ("PENDING", "RUNNING"):
            return True
        self.close("FLOW_CANCELLED", -1, 2)

    def supersede(self, *_):
        if self.state not in FLOW_ENDED and (
                self.closing == "NONE" or (self.closing == "OTHER_FAILED" and self.policy != "rollback")):
            self.close("SUPERSEDED", -1, 1)

    def retry(self, *_):
        if self.state not in ("FAILURE", "CANCELLED") or not self.started or self.closing == "SUPERSEDED":
            return True
        self.state, self.closing, self.cause = "RUNNING", "NONE", -1
        for node in self.nodes:
            if node.state not in DONE:
                node.become("PENDING")
                node.reason, node.cause, node.approved, node.left = "NONE", -1, False, 0

    def time(self, now, *_):
        while True:
            due = [node for node in self.nodes if 0 < node.deadline <= now]
            if not due:
                return
            node = min(due, key=lambda node: node.deadline)
            if node.state == "WAITING_APPROVAL":
                self.finish(node, "FAILURE", "APPROVAL_EXPIRED")
            elif node.phase == "PLANNING":
                self.finish(node, "FAILURE", "UNAVAILABLE")
            elif node.phase == "STARTING":
                node.deadline = 0
                if not node.stop:
                    node.stop, node.stop_reason = 1, "UNAVAILABLE"
            elif node.phase == "SYNCING":
                self.finish(node, "FAILURE", "NOT_IN_SYNC")
            elif node.phase == "SOAKING":
                self.finish(node, "SUCCESS", "NONE")
            self.queue_ready()

    def text(self, refused):
        return " | ".join([f"{self.state} {self.closing} {int(refused)}"] + [node.text() for node in self.nodes])


def main():
    flow, refused, events, begun = None, False, 0, False
    for number, line in enumerate(sys.stdin, 1):
        kind, _, rest = line.rstrip("\n").partition(" ")
        words = rest.split(" ")
        if kind == "flow":
            flow, begun, refused = Flow(words[0], *map(int, words[1:])), False, False
        elif kind == "node":
            flow.nodes.append(Node(len(flow.nodes), words[0] == "1", words[1] == "1", int(words[2]),
                                   [int(word) for word in words[3:]]))
        elif kind == "event":
            refused = flow.apply(words[0], int(words[1]), int(words[2]), int(words[3]), words[4], words[5] == "1",
                                 words[6] == "1")
            event = rest
            events += 1
        elif kind == "is":
            if not begun:
                flow.begin()
                begun, event = True, "(new)"
            if rest != flow.text(refused):
                print(f"line {number}, after {event}:\nengine {rest}\nmodel  {flow.text(refused)}", file=sys.stderr)
                return 1
        else:
            print(f"line {number}: {line}", file=sys.stderr)
            return 1
    print(f"{events} events agree")
    return 0 if events > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
