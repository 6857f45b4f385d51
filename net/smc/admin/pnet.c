// SPDX-License-Identifier: GPL-2.0
/*
 * An entry for a network device belongs to the device, not to its name: it follows
 * the device through a rename. When the device is removed, the entry waits for the
 * next device of that name.
 */
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/rcupdate.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "admin/net.h"
#include "admin/pnet_table.h"

/*
 * The PNET table of a namespace. smc_pnet_add() holds RTNL besides the lock, so that no device is
 * renamed or removed after its look-up and before its entry is in the table.
 */
struct smc_pnet_table {
	spinlock_t lock;	/* protects the fields below */
	struct list_head entries;	/* in the order in which they were added */
	unsigned long last_serial;
};

/* Look-ups by ifindex or ifname find no entry of an RDMA port: it has ifindex 0 and no ifname. */
static struct smc_pnet_entry *find_ifindex(struct smc_pnet_table *table, int ifindex)
{
	struct smc_pnet_entry *entry;

	list_for_each_entry(entry, &table->entries, list)
		if (entry->ifindex == ifindex)
			return entry;
	return NULL;
}

static struct smc_pnet_entry *find_ifname(struct smc_pnet_table *table, const char *ifname)
{
	struct smc_pnet_entry *entry;

	list_for_each_entry(entry, &table->entries, list)
		if (!strcmp(entry->ifname, ifname))
			return entry;
	return NULL;
}

static struct smc_pnet_entry *find_ibport(struct smc_pnet_table *table, const char *ibname,
					  u8 ibport)
{
	struct smc_pnet_entry *entry;

	list_for_each_entry(entry, &table->entries, list)
		if (entry->ibport == ibport && !strcmp(entry->ibname, ibname))
			return entry;
	return NULL;
}

static void drop(struct smc_pnet_entry *entry)
{
	list_del(&entry->list);
	kfree(entry);
}

/* Result of a walk over a device and its lower devices. */
struct pnet_found {
	char *pnetid;
	const struct net_device *vouched;	/* the device found, if its entry is explicit */
};

static int pnetid_of_one(struct net_device *dev, struct netdev_nested_priv *priv)
{
	struct smc_pnet_table *table = smc_net(dev_net(dev))->pnet;
	struct pnet_found *found = priv->data;
	struct smc_pnet_entry *entry;

	spin_lock_bh(&table->lock);
	entry = find_ifindex(table, dev->ifindex);
	if (entry) {
		strscpy(found->pnetid, entry->pnetid, SMC_MAX_PNETID_LEN + 1);
		found->vouched = entry->is_explicit ? dev : NULL;
	}
	spin_unlock_bh(&table->lock);
	return !!entry;
}

bool smc_pnet_of_netdev(struct net_device *dev, char *pnetid, bool *is_explicit)
{
	struct pnet_found found = { .pnetid = pnetid };
	struct netdev_nested_priv priv = { .data = &found };
	bool is_found;

	rcu_read_lock();
	is_found = pnetid_of_one(dev, &priv) ||
		   netdev_walk_all_lower_dev_rcu(dev, pnetid_of_one, &priv);
	rcu_read_unlock();
	/*
	 * Only an entry that the administrator made for @dev itself is explicit. Any other entry
	 * proves nothing about @dev: a container's root may put @dev on top of a listed device, or
	 * give @dev a listed name.
	 */
	*is_explicit = found.vouched == dev;
	return is_found;
}

bool smc_pnet_of_ibport(const char *ibname, u8 port, char *pnetid)
{
	struct smc_pnet_table *table = smc_net(&init_net)->pnet;
	struct smc_pnet_entry *entry;

	spin_lock_bh(&table->lock);
	entry = find_ibport(table, ibname, port);
	if (entry)
		strscpy(pnetid, entry->pnetid, SMC_MAX_PNETID_LEN + 1);
	spin_unlock_bh(&table->lock);
	return entry;
}

static struct smc_pnet_entry *new_entry(const char *pnetid)
{
	struct smc_pnet_entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	if (entry)
		strscpy(entry->pnetid, pnetid, sizeof(entry->pnetid));
	return entry;
}

static struct smc_pnet_entry *new_netdev_entry(struct net *net, const char *pnetid,
					       const char *ifname)
{
	struct smc_pnet_entry *entry = new_entry(pnetid);
	struct net_device *dev;

	if (!entry)
		return NULL;

	/* @ifname may be an alternative name, but the notifier looks for the device's own name. */
	dev = __dev_get_by_name(net, ifname);
	strscpy(entry->ifname, dev ? dev->name : ifname, sizeof(entry->ifname));
	entry->ifindex = dev ? dev->ifindex : 0;
	entry->is_explicit = dev;
	return entry;
}

static struct smc_pnet_entry *new_ibport_entry(const char *pnetid, const char *ibname, u8 ibport)
{
	struct smc_pnet_entry *entry = new_entry(pnetid);

	if (!entry)
		return NULL;
	strscpy(entry->ibname, ibname, sizeof(entry->ibname));
	entry->ibport = ibport;
	return entry;
}

static void append(struct smc_pnet_table *table, struct smc_pnet_entry *entry)
{
	entry->serial = ++table->last_serial;
	list_add_tail(&entry->list, &table->entries);
}

static int insert(struct smc_pnet_table *table, struct smc_pnet_entry *netdev,
		  struct smc_pnet_entry *ibport, struct netlink_ext_ack *extack)
{
	if (netdev && find_ifname(table, netdev->ifname)) {
		NL_SET_ERR_MSG(extack, "The network device has a PNET ID already");
		return -EEXIST;
	}
	if (ibport && find_ibport(table, ibport->ibname, ibport->ibport)) {
		NL_SET_ERR_MSG(extack, "The port of the RDMA device has a PNET ID already");
		return -EEXIST;
	}
	if (netdev)
		append(table, netdev);
	if (ibport)
		append(table, ibport);
	return 0;
}

static BLOCKING_NOTIFIER_HEAD(smc_pnet_chain);

int smc_pnet_register_notifier(struct notifier_block *nb)
{
	return blocking_notifier_chain_register(&smc_pnet_chain, nb);
}

void smc_pnet_unregister_notifier(struct notifier_block *nb)
{
	blocking_notifier_chain_unregister(&smc_pnet_chain, nb);
}

int smc_pnet_add(struct net *net, const char *pnetid, const char *ifname, const char *ibname,
		 u8 ibport, struct netlink_ext_ack *extack)
{
	struct smc_pnet_table *table = smc_net(net)->pnet;
	struct smc_pnet_entry *netdev, *port;
	int err = -ENOMEM;

	if (ibname && !net_eq(net, &init_net)) {
		NL_SET_ERR_MSG(extack, "RDMA devices are listed in the initial network namespace");
		return -EPERM;
	}

	rtnl_lock();
	netdev = ifname ? new_netdev_entry(net, pnetid, ifname) : NULL;
	port = ibname ? new_ibport_entry(pnetid, ibname, ibport) : NULL;
	if ((netdev || !ifname) && (port || !ibname)) {
		spin_lock_bh(&table->lock);
		err = insert(table, netdev, port, extack);
		spin_unlock_bh(&table->lock);
	}
	rtnl_unlock();
	if (err) {
		kfree(netdev);
		kfree(port);
		return err;
	}
	if (port)
		blocking_notifier_call_chain(&smc_pnet_chain, 0, NULL);
	return 0;
}

unsigned int smc_pnet_remove(struct net *net, const char *pnetid)
{
	struct smc_pnet_table *table = smc_net(net)->pnet;
	struct smc_pnet_entry *entry, *next;
	unsigned int n = 0;

	spin_lock_bh(&table->lock);
	list_for_each_entry_safe(entry, next, &table->entries, list) {
		if (pnetid && strcmp(entry->pnetid, pnetid))
			continue;
		drop(entry);
		n++;
	}
	spin_unlock_bh(&table->lock);
	return n;
}

bool smc_pnet_next(struct net *net, const char *pnetid, struct smc_pnet_entry *entry)
{
	struct smc_pnet_table *table = smc_net(net)->pnet;
	struct smc_pnet_entry *pos;
	bool found = false;

	spin_lock_bh(&table->lock);
	list_for_each_entry(pos, &table->entries, list) {
		if (pos->serial <= entry->serial || (pnetid && strcmp(pos->pnetid, pnetid)))
			continue;
		*entry = *pos;
		found = true;
		break;
	}
	spin_unlock_bh(&table->lock);
	return found;
}

static void device_named(struct smc_pnet_table *table, const struct net_device *dev)
{
	struct smc_pnet_entry *waiting = find_ifname(table, dev->name);
	struct smc_pnet_entry *own = find_ifindex(table, dev->ifindex);

	if (own == waiting)
		return;
	if (!own) {
		waiting->ifindex = dev->ifindex;
		return;
	}
	/* A renamed device keeps its entry, so an entry that waited for the new name is useless. */
	if (waiting)
		drop(waiting);
	strscpy(own->ifname, dev->name, sizeof(own->ifname));
}

static void device_gone(struct smc_pnet_table *table, const struct net_device *dev)
{
	struct smc_pnet_entry *own = find_ifindex(table, dev->ifindex);

	if (!own)
		return;
	own->ifindex = 0;
	own->is_explicit = false;
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct smc_pnet_table *table = smc_net(dev_net(dev))->pnet;

	spin_lock_bh(&table->lock);
	switch (event) {
	case NETDEV_REGISTER:
	case NETDEV_CHANGENAME:
		device_named(table, dev);
		break;
	case NETDEV_UNREGISTER:
		device_gone(table, dev);
		break;
	}
	spin_unlock_bh(&table->lock);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = { .notifier_call = netdev_event };

int smc_pnet_init_net(struct net *net)
{
	struct smc_pnet_table *table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return -ENOMEM;
	spin_lock_init(&table->lock);
	INIT_LIST_HEAD(&table->entries);
	smc_net(net)->pnet = table;
	return 0;
}

void smc_pnet_exit_net(struct net *net)
{
	smc_pnet_remove(net, NULL);
	kfree(smc_net(net)->pnet);
}

int smc_pnet_init(void)
{
	return register_netdevice_notifier(&netdev_notifier);
}

void smc_pnet_exit(void)
{
	unregister_netdevice_notifier(&netdev_notifier);
}
