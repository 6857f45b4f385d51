// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include <linux/netlink.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "admin/eid.h"

/* Offered by a host on which no EID is configured. */
static const char default_eid[] = "SMC-DEFAULT-EID";

/* Configured EIDs, in the order in which they were added, so that their serial numbers ascend. */
static u8 table[SMC_EID_MAX][SMC_EID_LEN];
static unsigned long eid_serials[SMC_EID_MAX];
static unsigned long last_eid_serial;
static unsigned int used;
static DEFINE_SPINLOCK(table_lock);

static void pad(u8 *eid, const char *name, size_t len)
{
	memcpy(eid, name, len);
	memset(eid + len, ' ', SMC_EID_LEN - len);
}

unsigned int smc_eid_list(u8 (*eids)[SMC_EID_LEN], unsigned int max)
{
	unsigned int n;

	spin_lock_bh(&table_lock);
	n = min(used, max);
	memcpy(eids, table, n * sizeof(table[0]));
	spin_unlock_bh(&table_lock);

	if (n)
		return n;
	pad(eids[0], default_eid, strlen(default_eid));
	return 1;
}

/* Return: the place of @eid among @n EIDs; @n if it is not there. */
static unsigned int find(const u8 (*eids)[SMC_EID_LEN], unsigned int n, const u8 *eid)
{
	unsigned int i = 0;

	while (i < n && memcmp(eids[i], eid, SMC_EID_LEN))
		i++;
	return i;
}

bool smc_eid_match(const u8 (*eids)[SMC_EID_LEN], unsigned int n, u8 *match)
{
	u8 ours[SMC_EID_MAX][SMC_EID_LEN];
	unsigned int n_ours = smc_eid_list(ours, SMC_EID_MAX);
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (find(ours, n_ours, eids[i]) == n_ours)
			continue;
		memcpy(match, eids[i], SMC_EID_LEN);
		return true;
	}
	return false;
}

/* Whether z/OS allows @name as an EID, too. An EID must be valid on all hosts that share it. */
static bool valid(const char *name, size_t len)
{
	return len && len <= SMC_EID_LEN && name[0] != '.' && name[0] != '-' &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") >= len &&
	       !strnstr(name, "..", len);
}

static int parse(u8 *eid, const char *name, struct netlink_ext_ack *extack)
{
	size_t len = strlen(name);

	while (len && name[len - 1] == ' ')
		len--;
	if (!valid(name, len)) {
		NL_SET_ERR_MSG(extack, "An EID is 1 to 32 of A-Z 0-9 . - beginning with a letter or digit, without \"..\"");
		return -EINVAL;
	}
	pad(eid, name, len);
	return 0;
}

int smc_eid_add(const char *name, struct netlink_ext_ack *extack)
{
	u8 eid[SMC_EID_LEN];
	int err = parse(eid, name, extack);

	if (err)
		return err;

	spin_lock_bh(&table_lock);
	if (find(table, used, eid) < used) {
		NL_SET_ERR_MSG(extack, "This EID is there already");
		err = -EEXIST;
	} else if (used == SMC_EID_MAX) {
		NL_SET_ERR_MSG(extack, "The table of EIDs is full");
		err = -ERANGE;
	} else {
		eid_serials[used] = ++last_eid_serial;
		memcpy(table[used++], eid, SMC_EID_LEN);
	}
	spin_unlock_bh(&table_lock);
	return err;
}

int smc_eid_remove(const char *name, struct netlink_ext_ack *extack)
{
	u8 eid[SMC_EID_LEN];
	int err = parse(eid, name, extack);
	unsigned int i;

	if (err)
		return err;

	spin_lock_bh(&table_lock);
	i = find(table, used, eid);
	if (i < used) {
		used--;
		memmove(table[i], table[i + 1], (used - i) * sizeof(table[0]));
		memmove(&eid_serials[i], &eid_serials[i + 1], (used - i) * sizeof(eid_serials[0]));
	} else {
		NL_SET_ERR_MSG(extack, "There is no such EID");
		err = -ENOENT;
	}
	spin_unlock_bh(&table_lock);
	return err;
}

void smc_eid_flush(void)
{
	spin_lock_bh(&table_lock);
	used = 0;
	spin_unlock_bh(&table_lock);
}

unsigned long smc_eid_next(unsigned long serial, u8 *eid)
{
	unsigned long next = 0;
	unsigned int i = 0;

	spin_lock_bh(&table_lock);
	while (i < used && eid_serials[i] <= serial)
		i++;
	if (i < used) {
		memcpy(eid, table[i], SMC_EID_LEN);
		next = eid_serials[i];
	}
	spin_unlock_bh(&table_lock);
	return next;
}
