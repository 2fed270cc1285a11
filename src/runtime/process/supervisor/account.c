/* Names and numbers of users and groups. A number need not be known to the machine. */
#include "runtime/process/supervisor/account.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/span.h"

static bool find_user(struct span name, bool by_number, uint64_t number, struct account *account,
	char user_name[ACCOUNT_HOME_MAX])
{
	FILE *file = fopen("/etc/passwd", "re");
	bool found = false;

	if (!file)
		return false;
	/* cppcheck-suppress fgetpwentCalled; the supervisor has one thread */
	for (struct passwd *entry; !found && (entry = fgetpwent(file));) {
		if (by_number ? entry->pw_uid != number : !span_is(name, entry->pw_name))
			continue;
		account->user = entry->pw_uid;
		account->group = entry->pw_gid;
		snprintf(account->home, sizeof(account->home), "%s", entry->pw_dir);
		snprintf(user_name, ACCOUNT_HOME_MAX, "%s", entry->pw_name);
		found = true;
	}
	fclose(file);
	return found;
}

/* The group of a name, or the groups that a user is a member of. */
static bool find_groups(struct span name, const char *member, struct account *account)
{
	FILE *file = fopen("/etc/group", "re");
	bool found = false;

	if (!file)
		return false;
	/* cppcheck-suppress fgetgrentCalled; likewise */
	for (struct group *entry; (entry = fgetgrent(file));) {
		if (name.data && span_is(name, entry->gr_name)) {
			account->group = entry->gr_gid;
			found = true;
		}
		for (char **other = entry->gr_mem; member && *other; other++)
			if (strcmp(*other, member) == 0 &&
				account->group_count < ACCOUNT_GROUPS_MAX)
				account->groups[account->group_count++] = entry->gr_gid;
	}
	fclose(file);
	return found;
}

int account_find(const char *text, struct account *ret_account, struct err *err)
{
	struct account account = {.user = geteuid(), .group = getegid(), .home = "/"};
	char user_name[ACCOUNT_HOME_MAX] = "";
	struct span user = span_of(text), group = SPAN_NONE;
	uint64_t number;
	bool numeric;

	if (!text) {
		find_user(SPAN(""), true, account.user, &account, user_name);
		account.user = geteuid();
		account.group = getegid();
		*ret_account = account;
		return 0;
	}
	span_split(span_of(text), ':', &user, &group);
	numeric = span_to_unsigned(user, UINT32_MAX - 1, &number);
	if (numeric) {
		account.group = 0;
		find_user(user, true, number, &account, user_name);
		account.user = (uid_t)number;
	} else if (!find_user(user, false, 0, &account, user_name)) {
		return err_set(err, -EINVAL, "unable to find user %.*s", SPAN_ARGS(user));
	}
	if (group.data && span_to_unsigned(group, UINT32_MAX - 1, &number))
		account.group = (gid_t)number;
	else if (group.data && !find_groups(group, NULL, &account))
		return err_set(err, -EINVAL, "unable to find group %.*s", SPAN_ARGS(group));
	if (!group.data && user_name[0])
		find_groups(SPAN_NONE, user_name, &account);
	account.change = geteuid() == 0;
	if (!account.change && account.user != geteuid())
		return err_set(err, -EINVAL, "user %s: only root can run programs as another user",
			text);
	*ret_account = account;
	return 0;
}
