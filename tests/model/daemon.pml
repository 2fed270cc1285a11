/*
 * Two managers, two instances, one crash: the claim of an environment, the conditional promotion of its deployment, and
 * a start whose answer is lost although it was done. Checked by ./check with spin:
 *
 *   S1   an instance never has two tasks
 *   S7   a deployment begins once, and is completed only when every instance has its task
 *   S12  what was sent or written under a claim has no effect when the claim has moved
 *   L1   in the end every instance has its task, and the deployment is completed
 *
 * What the program relies on is here, too: a call is sent only while the lease outlasts it, so a lease does not end
 * while one of its calls is under way (environment/act/start_stop.c, claims_check); who takes over looks at the world after
 * that, and, when the one before may have left a call behind, only when that must have ended (environment/decide/env_instances.c,
 * crew_claimed). -DBUG=n takes one of these away, and spin must find what breaks.
 */
#define NO_CATCH_UP 1 /* who takes over acts on what he knew before */
#define NO_FENCE 2    /* a deployment is promoted by what was read, without a condition */
#define NO_CHECK 3    /* a call is sent without asking whether the lease outlasts it */
#define NO_WAIT 4     /* who comes back after a crash does not wait for the calls of his life before */
#define NO_MARK 5     /* a start that was not answered is taken for not done */
#ifndef BUG
#define BUG 0
#endif

#define MANAGERS 2
#define NOBODY 2
#define EXPIRIES 1 /* leases that end although their server lives: a pause */
#define LOSSES 1   /* requests that get lost */

mtype = {PENDING, IN_PROGRESS, COMPLETED};
mtype = {NONE, ANSWERED, UNANSWERED};

/* The store. */
mtype deployment = PENDING;
byte promotions = 0;
byte owner = NOBODY, epoch = 0;
bool lease[MANAGERS];
byte intents[2]; /* epoch under which a start was written down; 0: none */

/* The world. */
byte tasks[2];
bool flying[MANAGERS]; /* a call of this manager is under way */
byte flies_to[MANAGERS], flies_under[MANAGERS];
mtype answer[MANAGERS];

byte crashes = 0, expiries = 0, losses = 0;

#define holds(m, mine) (owner == m && lease[m] && epoch == mine)

/* Requests arrive, or do not; answers come, or do not. */
active proctype network()
{
	byte m;
end:
	do
	:: atomic {
		flying[0] || flying[1] ->
		if
		:: flying[0] -> m = 0
		:: flying[1] -> m = 1
		fi;
		if
		:: losses < LOSSES -> losses++
		:: skip ->
			assert(flies_under[m] == epoch); /* S12 */
			assert(intents[flies_to[m]] == flies_under[m]); /* S19 */
			tasks[flies_to[m]]++;
			assert(tasks[flies_to[m]] <= 1) /* S1 */
		fi;
		flying[m] = false;
		if
		:: answer[m] = ANSWERED
		:: answer[m] = UNANSWERED
		fi
	   }
	od
}

/* A server is paused for so long that the others take it for dead. */
active proctype fate()
{
end:
	do
	:: atomic { expiries < EXPIRIES && lease[0] && (!flying[0] || BUG == NO_CHECK) -> expiries++; lease[0] = false }
	:: atomic { expiries < EXPIRIES && lease[1] && (!flying[1] || BUG == NO_CHECK) -> expiries++; lease[1] = false }
	od
}

#define MAY_CRASH                                                                                  \
	if                                                                                         \
	:: atomic { crashes == 0 -> crashes = 1; goto boot }                                       \
	:: skip                                                                                    \
	fi

proctype manager(byte m)
{
	byte view[2], mine = 0, i;
	mtype read_deployment;

boot:
	mine = 0;
	i = 0;
	view[0] = 0;
	view[1] = 0;
	read_deployment = PENDING;
	/* The calls of a life before. */
	if
	:: BUG == NO_WAIT
	:: else -> !flying[m]
	fi;
	answer[m] = NONE;
	lease[m] = false; /* another registration takes the place of the one before */

end_claim: /* may wait for ever: the other one does it */
	atomic {
		owner == NOBODY || !lease[owner] || holds(m, mine);
		if
		:: holds(m, mine)
		:: else ->
			/* Also a claim of our own from before: another registration is another owner. */
			owner = m;
			lease[m] = true;
			epoch++;
			mine = epoch;
			if
			:: BUG == NO_CATCH_UP
			:: else -> view[0] = tasks[0]; view[1] = tasks[1]
			fi
		fi;
		read_deployment = deployment
	}
	MAY_CRASH;
	if
	:: BUG == NO_FENCE ->
		if
		:: read_deployment == PENDING -> atomic { deployment = IN_PROGRESS; promotions++ }
		:: else
		fi
	:: else ->
		atomic {
			if
			:: holds(m, mine) && deployment == PENDING ->
				deployment = IN_PROGRESS;
				promotions++
			:: else
			fi
		}
	fi;
	assert(promotions <= 1); /* S7 */
	MAY_CRASH;
	if
	:: deployment == COMPLETED -> goto done
	:: else
	fi;
	i = 0;
	do
	:: i < 2 && view[i] > 0 -> i++
	:: i < 2 && view[i] == 0 ->
		/* The intent, under the claim. */
		atomic {
			if
			:: holds(m, mine) -> intents[i] = mine
			:: else -> goto end_claim
			fi
		}
		MAY_CRASH;
		/* Asking whether the lease outlasts the call, and sending it. */
		atomic {
			if
			:: holds(m, mine) || BUG == NO_CHECK ->
				flying[m] = true;
				flies_to[m] = i;
				flies_under[m] = mine;
				answer[m] = NONE
			:: else -> goto end_claim
			fi
		}
		MAY_CRASH;
		answer[m] != NONE;
		/* Whatever the answer: what came of it is seen by looking, from after the call. */
		atomic {
			if
			:: BUG == NO_MARK && answer[m] == UNANSWERED
			:: else -> view[0] = tasks[0]; view[1] = tasks[1]
			fi
		}
		MAY_CRASH
	:: i == 2 -> break
	od;
	atomic {
		if
		:: holds(m, mine) && deployment == IN_PROGRESS ->
			assert(tasks[0] == 1 && tasks[1] == 1); /* S7 */
			deployment = COMPLETED
		:: else
		fi
	}
	goto end_claim;
done:
	skip
}

init
{
	atomic {
		run manager(0);
		run manager(1)
	}
}

ltl L1 { <>[] (tasks[0] == 1 && tasks[1] == 1 && deployment == COMPLETED) }
