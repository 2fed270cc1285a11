/* slipway COMMAND …: finds the command in the table and runs it. */
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/span.h"
#include "cli/cluster.h"
#include "cli/command.h"
#include "cli/remote.h"
#include "proxy/l4/l4.h"

static int version_run(const struct command *command, int count, char **arguments)
{
	(void)arguments;
	if (count > 0)
		return command_misused(command, "takes no arguments");
	puts("slipway " SLIPWAY_VERSION);
	return EXIT_OK;
}

static int proxy_worker_run(const struct command *command, int count, char **arguments)
{
	(void)command;
	return proxy_worker_main(count, arguments);
}

static const struct command commands[] = {
	{"up", "[--listen ADDR:PORT] [--state DIR] [--config FILE] [--store URL] ...",
		"Start the server.",
		"Starts slipway with its embedded store and serves the Amazon ECS API. On the "
		"first start it\n"
		"makes an admin key, keeps it in the state folder and prints how to use it. "
		"SIGTERM and SIGINT\n"
		"let requests in flight finish; SIGHUP reads certificates again and reopens the "
		"audit log.\n\n"
		"Example:\n  slipway up --listen 127.0.0.1:4780 --state ~/slipway\n\n",
		up_run, up_help, NULL},
	{"key", "create|list|delete|show-admin ...", "Manage access keys of a running server.",
		"  slipway key create [--user NAME] [--policy FILE] [--account ACCOUNT]\n"
		"  slipway key list\n"
		"  slipway key delete ID\n"
		"  slipway key show-admin\n\n"
		"show-admin prints lines for a shell with the admin key in the state folder of a "
		"server on this\n"
		"machine: eval \"$(slipway key show-admin)\".\n\n"
		"Options of all:\n" REMOTE_OPTIONS_HELP
		"  -o json        Print JSON instead of a table.\n\n"
		"A policy is a file with an IAM-style document; without one the key may do "
		"everything in its\n"
		"account. The secret is shown once.\n\n"
		"Example:\n  slipway key create --user ci --policy ci-policy.json\n",
		key_run, NULL, NULL},
	{"env", "VERB [NAME] ...",
		"Environments: one task on every matching instance, a service, or a schedule.",
		"Verbs:\n", env_run, env_help, env_help_of},
	{"app", "VERB [NAME] ...",
		"Applications: deliver ECS services by quick sync, canary or blue/green.",
		"An application is a folder with an application file, as PipeCD has them, and the "
		"definition files\nthat it names.\n\nVerbs:\n",
		app_run, app_help, app_help_of},
	{"deployment", "VERB NAME [DEPLOYMENT] ...",
		"Deployments of applications: follow, approve, cancel.", "Verbs:\n", deployment_run,
		deployment_help, deployment_help_of},
	{"repository", "list|poll|delete ...",
		"Git repositories that applications are delivered from.",
		"They are added by 'slipway app add'.\n\nVerbs:\n", repository_run, repository_help,
		repository_help_of},
	{"flow", "VERB [FLOW] ...", "Flows: the applications that follow another one, as a graph.",
		"Verbs:\n", flows_run, flows_help, flows_help_of},
	{"logs", "[OPTIONS] TASK", "Print what a task has written.",
		"TASK is the id of a task, CLUSTER/ID or its ARN. Tasks are those of the region "
		"in\n"
		"$AWS_REGION or $AWS_DEFAULT_REGION. The logs of the last tasks that stopped are "
		"kept, too.\n\n"
		"Options:\n"
		"  --follow, -f   Go on until the container ends.\n"
		"  --tail N, -n N Only the last N lines of what has been written so far.\n"
		"  --since TIME   Only lines written since: 90s, 10m or 2h before now, or\n"
		"                 2026-11-16T12:00:00Z.\n"
		"  --timestamps, -t\n"
		"                 The time at which it was written before each line.\n"
		"  --container NAME, -c NAME\n"
		"                 Which one, when the task has several.\n" REMOTE_OPTIONS_HELP
		"\nExample:\n  slipway logs -f 0123456789abcdef0123456789abcdef\n",
		logs_run, NULL, NULL},
	{"exec", "[-it] [--container NAME] TASK [--] COMMAND ...",
		"Run a program in a container of a task.",
		"Standard input, output and error are those of this command, and so is the exit "
		"code. When\n"
		"this command ends, so does the program.\n\n"
		"Options:\n"
		"  -t, -it        With a terminal of its own, for shells.\n"
		"  --container NAME, -c NAME\n"
		"                 Which one, when the task has several.\n" REMOTE_OPTIONS_HELP
		"\nExample:\n  slipway exec -it 0123456789abcdef0123456789abcdef sh\n",
		exec_run, NULL, NULL},
	{"dns", "install|lookup ...", "Point this machine at slipway's names; look one up.",
		"  slipway dns install [--systemd-resolved | --dnsmasq | --resolv-conf]\n"
		"  slipway dns lookup NAME [TYPE]\n\n"
		"install prints the settings with which the resolver of this machine asks "
		"slipway for the\n"
		"names of the namespaces there are now, and for slipway's own domain. It changes "
		"nothing. With\n"
		"one of the options it prints just the file for that resolver. lookup asks slipway "
		"itself.\n\n"
		"Options of both:\n" REMOTE_OPTIONS_HELP "\nExample:\n"
		"  slipway dns install --dnsmasq | sudo tee /etc/dnsmasq.d/slipway.conf\n"
		"  slipway dns lookup web.shop.local SRV\n",
		dns_run, NULL, NULL},
	{"demo", "[--once] [--network]", "Show a service move from one version to the next, live.",
		"Brings up a server of its own, in memory and on free ports, and in it a small web "
		"service in two\n"
		"versions, behind a load balancer and behind a name. Moves the traffic from the "
		"first version to\n"
		"the second in steps, while clients go on asking, and says what they saw. It needs "
		"neither root\n"
		"nor Docker nor a network, and leaves nothing behind.\n\n"
		"Without --once it then stays up, with its addresses, a key and commands to try, "
		"until Ctrl-C.\n"
		"Exit code 0: every step had exactly the shares that were asked for, and no "
		"request "
		"failed.\n\n"
		"Options:\n"
		"  --once         End when everything was shown.\n"
		"  --network      A network load balancer, which divides connections, in place of "
		"an application\n"
		"                 load balancer, which divides requests and needs haproxy.\n\n"
		"Example:\n  slipway demo --once\n",
		demo_run, NULL, NULL},
	{"chart", "template|lint ...", "Render Helm charts, or check them.",
		"  slipway chart template DIR|TGZ [OPTIONS]\n"
		"  slipway chart lint DIR|TGZ [OPTIONS]\n\n"
		"template prints what 'helm template' prints, without Helm and without a cluster. "
		"lint reports\n"
		"everything that template would refuse.\n\n"
		"Options:\n"
		"  -f FILE, --values FILE   Values in YAML; later files win.\n"
		"  --set a.b=1,c=x          Values on the command line; also --set-string, "
		"--set-file and\n"
		"                           --set-json.\n"
		"  --name RELEASE           .Release.Name (release-name).\n"
		"  -n NS, --namespace NS    .Release.Namespace (default).\n"
		"  --kube-version VERSION   .Capabilities.KubeVersion.\n"
		"  --api-versions A,B       More of .Capabilities.APIVersions.\n"
		"  -s FILE, --show-only FILE\n"
		"                           Only the documents of these templates.\n"
		"  --include-crds           With the files of crds/.\n"
		"  --is-upgrade             .Release.IsUpgrade instead of .Release.IsInstall.\n"
		"  --skip-tests, --no-hooks Without tests, without all hooks.\n\n"
		"Example:\n  slipway chart template ./web -f production.yaml --set image.tag=1.4\n",
		chart_run, NULL, NULL},
	{"release", "VERB [NAME] ...", "Releases on Kubernetes: apply, history, rollback, status.",
		"A Release describes an application on Kubernetes as a template with values. "
		"'slipway "
		"up\n--releases' brings the cluster in line with it.\n\n"
		"  slipway release apply NAME --manifests FILE|--chart DIR|TGZ [--values FILE] "
		"[--wait]\n"
		"  slipway release apply NAME [--values FILE] [--suspend|--resume]\n"
		"  slipway release history NAME\n"
		"  slipway release rollback NAME [VERSION] [--wait]\n"
		"  slipway release status NAME\n"
		"  slipway release delete NAME\n\n"
		"apply creates the Release, or changes what is given of it. rollback returns to "
		"VERSION, or to\nthe version before the current one.\n\n"
		"Options:\n"
		"  --manifests FILE   Plain manifests, in which {{ .Values.NAME }} is replaced.\n"
		"  --chart DIR|TGZ    A Helm chart.\n"
		"  --values FILE      The values, in YAML or JSON.\n"
		"  --description TEXT What changes with this version.\n"
		"  --history-limit N  How many versions are kept.\n"
		"  --suspend          Run no replicas; --resume runs them again.\n"
		"  --wait             Wait until the Release is available, or has failed; see "
		"--timeout.\n"
		"  --timeout SECONDS  300.\n"
		"  -o json            Print JSON (history and status).\n" CLUSTER_OPTIONS_HELP
			CLUSTER_NAMESPACE_HELP "\nExample:\n"
		"  slipway release apply web --manifests web.yaml --values production.yaml "
		"--wait\n",
		release_run, NULL, NULL},
	{"canary", "VERB ...", "Canary releases on Kubernetes.",
		"A CanaryRelease runs a new version of a Release beside it, which gets a share of "
		"the "
		"traffic of its\nServices. 'slipway up --releases' makes the steps.\n\n"
		"  slipway canary install [--print]\n"
		"  slipway canary create NAME --release RELEASE [--values FILE] "
		"SERVICE:PORT[/PROTOCOL]=WEIGHT ...\n"
		"  slipway canary set-weight NAME WEIGHT|SERVICE:PORT[/PROTOCOL]=WEIGHT ...\n"
		"  slipway canary pause|resume NAME\n"
		"  slipway canary adopt NAME\n"
		"  slipway canary deprecate NAME\n"
		"  slipway canary status NAME [--watch]\n\n"
		"install applies the custom resource definitions of Releases and CanaryReleases to "
		"a "
		"cluster, and\nthe rights of their controllers; with --print it prints them and "
		"needs "
		"no cluster. NAME ends with\n'-' and a suffix, which the names of the new "
		"version's "
		"workloads get. Weights are in percent, with\nat most one decimal. PROTOCOL is "
		"HTTP, "
		"HTTPS, TCP or UDP; without it, that of the Service's port.\n\n"
		"Options:\n"
		"  --values FILE      The values that differ from the Release's, in YAML or JSON.\n"
		"  --steps FILE       Automatic steps, a list in YAML or JSON.\n"
		"  --path PATH        The sub-chart that gets a new version, as shop/cart.\n"
		"  --drain-seconds N  How long open connections may last. Default: 30.\n"
		"  --proxy-replicas N Pods of the proxy. Default: 1.\n"
		"  --wait             Wait until it is done, or has failed; see --timeout.\n"
		"  --timeout SECONDS  300.\n"
		"  -o json            Print JSON (status).\n" CLUSTER_OPTIONS_HELP
			CLUSTER_NAMESPACE_HELP "\nExample:\n"
		"  slipway canary create web-v2 --release web --values v2.yaml web:80=10 --wait\n"
		"  slipway canary set-weight web-v2 50\n"
		"  slipway canary adopt web-v2 --wait\n",
		canary_command_run, NULL, NULL},
	{"sim", SIM_ARGUMENTS, SIM_SUMMARY,
		"Starts slipway-sim, which must be in the same folder as slipway. Its --help "
		"lists the\n"
		"simulations, their options and the bugs that can be seeded.\n\n"
		"Example:\n  slipway sim service --seeds 1-100\n",
		sim_run, NULL, sim_help_of},
	{"config", "[yaml|markdown|check FILE]",
		"Print every key of slipway.yaml with its default, or check a file.",
		"check also reads the credentials of targets, which slipway up does when they are "
		"needed.\n\n"
		"Example:\n  slipway config > slipway.yaml\n  slipway config check slipway.yaml\n",
		config_run, NULL, NULL},
	{"version", "", "Print the version.", "", version_run, NULL, NULL},
	/* For slipway itself; commands without a summary are not in the overview. */
	{"canary-proxy", "--namespace NAMESPACE [OPTIONS] NAME", "",
		"The program in the pods of a CanaryRelease's proxy: carries the traffic of its "
		"Services to the\n"
		"stable and the canary version by weight. SIGTERM lets open connections end, for "
		"at "
		"most\n"
		"drainSeconds.\n\n"
		"  --namespace NAME       Of the CanaryRelease.\n"
		"  --kubeconfig FILE      Default: $KUBECONFIG, or the account of the pod.\n"
		"  --replica NAME         Of this process in the status. Default: $HOSTNAME.\n"
		"  --address ADDRESS      To listen on. Default: 0.0.0.0.\n"
		"  --health-port PORT     Of GET /readyz and /metrics. Default: 7070.\n"
		"  --workers N            Processes that carry TCP and UDP. Default: 1.\n"
		"  --haproxy-folder DIR   For HAProxy, which splits protocol HTTP per request; "
		"without it, per\n"
		"                         connection.\n"
		"  --certificates DIR     Of the mounted Secrets, DIR/SECRET/tls.crt and tls.key.\n"
		"                         Default: /etc/slipway/certificates.\n",
		canary_proxy_run, NULL, NULL},
	{"proxy-worker", "", "",
		"A process that carries TCP and UDP of load balancers. 'slipway up' starts it.\n",
		proxy_worker_run, NULL, NULL},
	{"demo-web", "", "", "The web server of the tasks of 'slipway demo'.\n", demo_web_run, NULL,
		NULL},
};

static void print_overview(FILE *out)
{
	fputs("slipway puts containers into service safely: an Amazon-ECS-compatible control "
	      "plane.\n\n"
	      "Usage: slipway COMMAND ...\n\nCommands:\n",
		out);
	for (size_t i = 0; i < LENGTH(commands); i++)
		if (commands[i].summary[0])
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n'slipway COMMAND --help' describes a command.\n", out);
}

static void print_help(const struct command *command, int count, char **arguments)
{
	if (command->help_of && command->help_of(count, arguments))
		return;
	printf("Usage: slipway %s %s\n\n%s\n\n%s", command->name, command->arguments,
		command->summary, command->details);
	fflush(stdout);
	if (command->more_help)
		command->more_help();
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < LENGTH(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static bool asks_for_help(const struct command *command, int count, char **arguments)
{
	/* Arguments after "--" belong to another program, as do those of the program that exec runs. */
	if (command->run == exec_run)
		count = exec_count_own(count, arguments);
	for (int i = 0; i < count && strcmp(arguments[i], "--") != 0; i++)
		if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct command *command;
	struct span known[LENGTH(commands)], nearest;

	/* A client that hangs up must not end the server; writes then fail with EPIPE. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
		strcmp(argv[1], "-h") == 0) {
		command = argc > 2 ? find(argv[2]) : NULL;
		if (command)
			print_help(command, argc - 3, argv + 3);
		else
			print_overview(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0)
		argv[1] = (char *)"version";
	command = find(argv[1]);
	if (!command) {
		for (size_t i = 0; i < LENGTH(commands); i++)
			known[i] = span_of(commands[i].name);
		nearest = span_nearest(span_of(argv[1]), known, LENGTH(known));
		fprintf(stderr, "slipway: there is no command '%s'%s%.*s%s\n", argv[1],
			nearest.data ? "; did you mean '" : "",
			SPAN_ARGS(nearest.data ? nearest : SPAN("")), nearest.data ? "'?" : "");
		return EXIT_USAGE;
	}
	if (asks_for_help(command, argc - 2, argv + 2)) {
		print_help(command, argc - 2, argv + 2);
		return EXIT_OK;
	}
	return command->run(command, argc - 2, argv + 2);
}
