// SPDX-License-Identifier: GPL-2.0
/* The list of RDMA devices, and their events. */

#include <linux/slab.h>
#include <linux/spinlock.h>

#include "admin/pnet.h"
#include "device.h"
#include "group.h"
#include "links.h"
#include "log.h"

LIST_HEAD(smc_rdma_devices);
static unsigned long smc_rdma_last_serial;
static DEFINE_SPINLOCK(smc_rdma_devices_lock);	/* protects changes to list and serial */
static struct ib_client smc_rdma_client;

static void smc_rdma_device_unused(struct kref *ref)
{
	complete(&container_of(ref, struct smc_rdma_device, users)->unused);
}

void smc_rdma_device_get(struct smc_rdma_device *dev)
{
	kref_get(&dev->users);
}

void smc_rdma_device_put(struct smc_rdma_device *dev)
{
	kref_put(&dev->users, smc_rdma_device_unused);
}

/*
 * Handle an event: end or check the links that it affects. Context: any, because work items do
 * everything that may sleep.
 */
static void smc_rdma_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct smc_rdma_device *dev = container_of(handler, struct smc_rdma_device, events);

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		smc_links_device_failed(dev);
		break;
	case IB_EVENT_PORT_ERR:
		smc_links_watch_port(dev, event->element.port_num);
		break;
	case IB_EVENT_PORT_ACTIVE:
		smc_links_watch_port(dev, event->element.port_num);
		smc_links_seek_port();
		break;
	case IB_EVENT_GID_CHANGE:
		smc_links_check_gids(dev, event->element.port_num);
		smc_links_seek_port();
		break;
	default:
		break;
	}
}

/* Return: what a device can't do, although this module requires it; or NULL. */
static const char *smc_rdma_device_lacks(const struct ib_device_attr *attrs)
{
	/* One work request registers a whole RMB. */
	if (!(attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    attrs->max_fast_reg_page_list_len < SMC_BUFFER_BYTES >> PAGE_SHIFT)
		return "register memory by work request";
	if (attrs->max_recv_sge < SMC_RECV_SGES)
		return "receive a message into two buffers";
	return NULL;
}

static int smc_rdma_add(struct ib_device *ibdev)
{
	const char *lacks = smc_rdma_device_lacks(&ibdev->attrs);
	struct smc_rdma_device *dev;

	if (lacks) {
		smc_log(pr_info, &init_net, "%s: not used, can't %s", ibdev->name, lacks);
		return -EOPNOTSUPP;
	}

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	kref_init(&dev->users);
	init_completion(&dev->unused);
	INIT_IB_EVENT_HANDLER(&dev->events, ibdev, smc_rdma_event);
	ib_set_client_data(ibdev, &smc_rdma_client, dev);
	ib_register_event_handler(&dev->events);

	spin_lock(&smc_rdma_devices_lock);
	dev->serial = ++smc_rdma_last_serial;
	list_add_tail_rcu(&dev->list, &smc_rdma_devices);
	spin_unlock(&smc_rdma_devices_lock);
	smc_log(pr_info, &init_net, "%s: device added", ibdev->name);
	smc_links_seek_port();
	return 0;
}

static void smc_rdma_remove(struct ib_device *ibdev, void *client_data)
{
	struct smc_rdma_device *dev = client_data;

	spin_lock(&smc_rdma_devices_lock);
	list_del_rcu(&dev->list);
	spin_unlock(&smc_rdma_devices_lock);
	/*
	 * After this, each reader that found the device in the list is done or holds a reference.
	 */
	synchronize_rcu();

	ib_unregister_event_handler(&dev->events);
	/* The device works until this callback returns, so groups can still send DELETE LINK. */
	smc_links_shutdown_device(dev);
	/*
	 * Wait until links and handshakes have dropped their references: both end in bounded time.
	 */
	smc_rdma_device_put(dev);
	wait_for_completion(&dev->unused);
	kfree(dev);
	smc_log(pr_info, &init_net, "%s: device removed", ibdev->name);
}

static struct ib_client smc_rdma_client = {
	.name	= "smc",
	.add	= smc_rdma_add,
	.remove	= smc_rdma_remove,
};

static int smc_rdma_on_pnet(struct notifier_block *nb, unsigned long event, void *arg)
{
	smc_links_seek_port();
	return NOTIFY_DONE;
}

static struct notifier_block smc_rdma_pnet_notifier = { .notifier_call = smc_rdma_on_pnet };

int smc_rdma_device_init(void)
{
	int err;

	err = smc_pnet_register_notifier(&smc_rdma_pnet_notifier);
	if (err)
		return err;
	err = ib_register_client(&smc_rdma_client);
	if (err)
		smc_pnet_unregister_notifier(&smc_rdma_pnet_notifier);
	return err;
}

void smc_rdma_device_exit(void)
{
	ib_unregister_client(&smc_rdma_client);
	smc_pnet_unregister_notifier(&smc_rdma_pnet_notifier);
}
